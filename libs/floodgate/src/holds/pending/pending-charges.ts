import type { Outcome } from '../../policy/outcome.js';
import { allOf, andThen } from '../../util/answer.js';
import type { Judgement } from '../../charges/judgement.js';
import type { Holds, ReservedCharge } from './holds.js';
import type { DecidedCost, FinalCostOf, PendingCharge } from './pending-charge.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import { RunningWork } from '../../util/running-work.js';
import { unawaited } from '../../util/unawaited.js';

/** The charges of one request that are not final yet. */
export interface PendingRecord {
  /** The pending state of a charge; undefined if the charge is final. */
  pendingOf(charge: PolicyCharge): PendingCharge | undefined;
  /** The pending state of a charge. Makes a new one if there is none. */
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

  /** Renews the leases until the call departs: it may wait for longer than they last. */
  async whileWaiting(departure: Promise<void>): Promise<void> {
    const waiting = this.charges.filter((pending) => !pending.hasBegun(this.call));
    for (const pending of waiting) pending.begin(this.call);
    try {
      await departure;
    } finally {
      for (const pending of waiting) pending.rest(this.call);
    }
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
  private readonly settling = new RunningWork();

  constructor(private readonly holds: Holds) {}

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
    for (const lease of this.holds.leasesOf(receipts)) pendingOf(lease.index).hold(lease);
    for (const reserved of this.holds.reservedOf(receipts, charges))
      pendingOf(reserved.receipt.index).reserved = reserved;
    return held;
  }

  /** Resolves once all that has ended is settled. */
  stop(): Promise<void> {
    return this.settling.ended();
  }

  private of(call: object): PendingCall {
    return new PendingCall(call, this.finalCostOf, (idle) => this.settle(idle));
  }

  private settle(idle: readonly PendingCharge[]): void {
    for (const pending of idle) pending.release();
    const decided = allOf(idle.map((pending) => pending.decided()));
    const known = (costOf: DecidedCost | undefined): (readonly [ReservedCharge, number])[] => {
      const one = costOf?.();
      return one === undefined ? [] : [one];
    };
    unawaited(this.settling.track(andThen(decided, (costs) => this.holds.settle(costs.flatMap(known)))));
  }

  private readonly finalCostOf: FinalCostOf = (policy, outcome) => this.holds.finalCost(policy, outcome);
}
