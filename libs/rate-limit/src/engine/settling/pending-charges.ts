import type { Outcome } from '../../policy/outcome.js';
import { reserves } from '../../stores/charge.js';
import { shown } from '../../util/config-error.js';
import type { Judgement, Receipt } from '../judgement.js';
import type { Leases } from './leases.js';
import type { FinalCostOf, PendingCharge, ReservedStep } from './pending-charge.js';
import type { PolicyCharge } from '../policy-charge.js';
import type { RequestRecord } from '../requests/request-record.js';
import { ReservedCharges } from './reserved-charges.js';
import type { UserFunctions } from '../functions/user-functions.js';

/** The pending charges that one call of a handler keeps pending. */
export class CallCharges {
  private readonly charges: PendingCharge[] = [];

  /** @param call stands for the call of the handler */
  constructor(
    private readonly call: object,
    private readonly finalCostOf: FinalCostOf,
    private readonly settle: (idle: readonly PendingCharge[]) => void,
  ) {}

  add(pending: PendingCharge, charge: PolicyCharge): void {
    if (pending.join(this.call, charge.policy)) this.charges.push(pending);
  }

  /** Renews the leases from now on: the end of the call is certain to be told. */
  began(): void {
    for (const pending of this.charges) pending.begin(this.call);
  }

  ended(outcome: Outcome): void {
    for (const pending of this.charges) pending.end(this.call, outcome, this.finalCostOf);
    this.settleIdle();
  }

  /** The call was rejected, and its handler does not run. */
  left(): void {
    for (const pending of this.charges) pending.leave(this.call);
    this.settleIdle();
  }

  /** Whether departure slots that the request leaves unused may be refunded. */
  claimSlots(): boolean {
    return this.charges.map((pending) => pending.claimSlots()).every(Boolean);
  }

  private settleIdle(): void {
    this.settle(this.charges.filter((pending) => pending.isIdle));
  }
}

/**
 * What requests were charged and do not have for good: their leases, which are released when they have ended, and the charges of
 * policies with `countIf` or `settle`.
 */
export class PendingCharges {
  constructor(
    private readonly leases: Leases,
    private readonly functions: Pick<UserFunctions, 'call' | 'failed'>,
  ) {}

  /**
   * Keeps the pending charges of other calls pending that share a policy with this one, and tells it of the end where theirs was
   * settled before; undefined where there are none.
   *
   * @param call stands for the call of the handler
   * @param charges what the call's policies ask
   */
  join(call: () => object, charges: readonly PolicyCharge[], record: RequestRecord): CallCharges | undefined {
    let joined: CallCharges | undefined;
    for (const charge of charges) {
      if (record.pendingOf(charge) === undefined) continue;
      joined ??= this.of(call());
      joined.add(record.pending(charge), charge);
    }
    return joined;
  }

  /**
   * Keeps what an allowed request was charged, until its call has ended. Undefined where all of it is charged for good.
   *
   * @param charges those of the request
   * @param joined what the call shares with others
   */
  hold(
    call: () => object,
    charges: readonly PolicyCharge[],
    judgement: Judgement,
    record: RequestRecord,
    joined: CallCharges | undefined,
  ): CallCharges | undefined {
    // Every request passes here: most have neither.
    let any = false;
    for (let i = 0; i < charges.length; i++) any ||= reserves(charges[i]!) || charges[i]!.algorithm.lease !== undefined;
    if (!any) return joined;
    const held = joined ?? this.of(call());
    const pendingOf = (index: number): PendingCharge => {
      const charge = charges[index]!;
      const pending = record.pending(charge);
      held.add(pending, charge);
      return pending;
    };
    const { receipts } = judgement;
    for (const lease of this.leases.of(receipts)) pendingOf(lease.index).hold(lease);
    for (const receipt of receipts) {
      if (reserves(receipt.charge)) pendingOf(receipt.index).add({ receipt, receipts, cost: receipt.charge.cost });
    }
    return held;
  }

  private of(call: object): CallCharges {
    return new CallCharges(call, this.finalCostOf, (idle) => void this.settle(idle));
  }

  /** Never rejects: nobody waits for it. */
  private async settle(idle: readonly PendingCharge[]): Promise<void> {
    for (const pending of idle) pending.release();
    const decided = await Promise.all(idle.map((pending) => pending.decided()));
    const settled = decided.flatMap((costs) => costs?.() ?? []);
    const together = new Map<readonly Receipt[], (readonly [ReservedStep, number])[]>();
    for (const one of settled) {
      const [{ receipts }] = one;
      const others = together.get(receipts);
      if (others === undefined) together.set(receipts, [one]);
      else others.push(one);
    }
    await Promise.all(
      Array.from(together.values(), async (all) => {
        const reserved = new ReservedCharges(all.map(([{ receipt }]) => receipt));
        return this.settleSome(
          reserved,
          all.map(([, cost]) => cost),
        );
      }),
    );
  }

  private async settleSome(reserved: ReservedCharges, costs: readonly number[]): Promise<void> {
    try {
      reserved.checkEach(costs);
    } catch (error) {
      const names = reserved.receipts.map(({ charge }) => `'${charge.policy.name}'`).join(', ');
      reserved.close();
      this.functions.failed('settle', `policies ${names} were not settled, and their charges stay`, error);
      return;
    }
    await reserved.settleEach(costs);
  }

  /** The cost of the whole request; undefined: what was charged, as a function that fails leaves it. */
  private readonly finalCostOf: FinalCostOf = ({ name, countIf, settle }, outcome) => {
    const otherwise = (): undefined => undefined;
    if (countIf !== undefined) {
      const counts = async (): Promise<number | undefined> => (boolean(await countIf(outcome)) ? undefined : 0);
      return this.functions.call<number | undefined>(
        'countIf',
        `countIf of policy '${name}' failed, the request counts`,
        counts,
        otherwise,
      );
    }
    if (settle === undefined) return Promise.resolve(undefined);
    const settles = async (): Promise<number> => whole(await settle(outcome));
    return this.functions.call<number | undefined>(
      'settle',
      `settle of policy '${name}' failed, its cost stays`,
      settles,
      otherwise,
    );
  };
}

function boolean(returned: unknown): boolean {
  if (typeof returned === 'boolean') return returned;
  throw new TypeError(`it must return true or false, got ${shown(returned)}`);
}

function whole(returned: unknown): number {
  if (Number.isSafeInteger(returned) && (returned as number) >= 0) return returned as number;
  throw new TypeError(`it must return a whole number from 0, got ${shown(returned)}`);
}
