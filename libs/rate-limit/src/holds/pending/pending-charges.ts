import type { Outcome } from '../../policy/outcome.js';
import { reserves } from '../../stores/charge.js';
import { allOf, andThen } from '../../util/answer.js';
import type { Judgement, Receipt } from '../../charges/judgement.js';
import type { ExpiringReservations } from '../expiry/expiring-reservations.js';
import { finalCostByPolicy } from '../settlements/final-cost.js';
import type { Leases } from '../leases/leases.js';
import type { DecidedCost, FinalCostOf, PendingCharge, ReservedCharge } from './pending-charge.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import { ReservedCharges } from '../settlements/reserved-charges.js';
import type { UserFunctions } from '../../functions/user-functions.js';
import { unawaited } from '../../util/unawaited.js';

/** The charges of one request that are not final yet. */
export interface PendingRecord {
  /** That of a charge; undefined if it is final. */
  pendingOf(charge: PolicyCharge): PendingCharge | undefined;
  /** That of a charge. Makes a new one if there is none. */
  pending(charge: PolicyCharge): PendingCharge;
}

/** The pending charges that one call of a handler keeps pending. */
export class PendingCall {
  private readonly charges: PendingCharge[] = [];

  /** @param call identifies the call of the handler */
  constructor(
    private readonly call: object,
    private readonly finalCostOf: FinalCostOf,
    private readonly settle: (idle: readonly PendingCharge[]) => void,
  ) {}

  add(pending: PendingCharge, charge: PolicyCharge): void {
    if (pending.join(this.call, charge.policy)) this.charges.push(pending);
  }

  /** Starts to renew the leases: the end of the call is certain to be reported. */
  began(): void {
    for (const pending of this.charges) pending.begin(this.call);
  }

  ended(outcome: Outcome): void {
    for (const pending of this.charges) pending.end(this.call, outcome, this.finalCostOf);
    this.settleIdle();
  }

  /** Removes the call, which was rejected: its handler does not run. */
  left(): void {
    for (const pending of this.charges) pending.leave(this.call);
    this.settleIdle();
  }

  private settleIdle(): void {
    this.settle(this.charges.filter((pending) => pending.isIdle));
  }
}

/**
 * The charges that are not final before their requests have ended: leases, which are then released, and the charges of policies
 * with `countIf` or `settle`.
 */
export class PendingCharges {
  constructor(
    private readonly leases: Leases,
    private readonly functions: Pick<UserFunctions, 'call' | 'failed'>,
    private readonly expiring: Pick<ExpiringReservations, 'expiring'>,
  ) {}

  /**
   * Lets a call share the charges that earlier calls of its request have made under the same policies. They stay pending until
   * this call ends, too. Undefined if there are none.
   *
   * @param call identifies the call of the handler
   * @param charges what the call's policies ask
   */
  join(call: () => object, charges: readonly PolicyCharge[], record: PendingRecord): PendingCall | undefined {
    let joined: PendingCall | undefined;
    for (const charge of charges) {
      const pending = record.pendingOf(charge);
      if (pending === undefined) continue;
      joined ??= this.of(call());
      joined.add(pending, charge);
    }
    return joined;
  }

  /**
   * Keeps the charges of an allowed request pending until its call has ended. Undefined if all of them are final.
   *
   * @param charges those of the request
   * @param joined what `join` returned for the call
   */
  hold(
    call: () => object,
    charges: readonly PolicyCharge[],
    judgement: Judgement,
    record: PendingRecord,
    joined: PendingCall | undefined,
  ): PendingCall | undefined {
    let held = joined;
    const pendingOf = (index: number): PendingCharge => {
      const charge = charges[index]!;
      held ??= this.of(call());
      const pending = record.pending(charge);
      held.add(pending, charge);
      return pending;
    };
    const { receipts } = judgement;
    for (const lease of this.leases.of(receipts)) pendingOf(lease.index).hold(lease);
    for (const receipt of receipts) {
      if (!reserves(receipt.charge)) continue;
      const pending = pendingOf(receipt.index);
      const { expiry } = charges[receipt.index]!.policy;
      const { cost } = receipt.charge;
      const expiring = expiry && this.expiring.expiring(receipt, expiry);
      pending.reserved = { receipt, receipts, cost, expiring };
    }
    return held;
  }

  private of(call: object): PendingCall {
    return new PendingCall(call, this.finalCostOf, (idle) => this.settle(idle));
  }

  private settle(idle: readonly PendingCharge[]): void {
    for (const pending of idle) pending.release();
    unawaited(andThen(allOf(idle.map((pending) => pending.decided())), (costs) => this.settleTogether(costs)));
  }

  /** Settles the charges of each judgement in one call. */
  private settleTogether(decided: readonly (DecidedCost | undefined)[]): void {
    const together = new Map<readonly Receipt[], (readonly [ReservedCharge, number])[]>();
    for (const costOf of decided) {
      const one = costOf?.();
      if (one === undefined) continue;
      const [{ receipts, receipt, expiring }, cost] = one;
      if (expiring !== undefined) {
        const { name } = receipt.charge.policy;
        unawaited(
          expiring.settleOrKeep(cost, (error) =>
            this.functions.failed('settle', `policy '${name}' was not settled, and its charge stays`, error),
          ),
        );
        continue;
      }
      const others = together.get(receipts);
      if (others === undefined) together.set(receipts, [one]);
      else others.push(one);
    }
    for (const all of together.values()) {
      const reserved = new ReservedCharges(all.map(([{ receipt }]) => receipt));
      this.settleSome(
        reserved,
        all.map(([, cost]) => cost),
      );
    }
  }

  /** Settles without waiting. */
  private settleSome(reserved: ReservedCharges, costs: readonly number[]): void {
    try {
      reserved.checkEach(costs);
    } catch (error) {
      const names = reserved.receipts.map(({ charge }) => `'${charge.policy.name}'`).join(', ');
      reserved.close();
      this.functions.failed('settle', `policies ${names} were not settled, and their charges stay`, error);
      return;
    }
    unawaited(reserved.settleEach(costs));
  }

  private readonly finalCostOf: FinalCostOf = (policy, outcome) => finalCostByPolicy(this.functions, policy, outcome);
}
