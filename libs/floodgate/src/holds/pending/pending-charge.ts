import { sameMeaning } from '../../policy/state-claims.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { Outcome } from '../../policy/outcome.js';
import { allOf, andThen, type Answer } from '../../util/answer.js';
import type { ReservedCharge } from './holds.js';
import type { HeldLease } from '../leases/leases.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';

/** The charge with its final cost; undefined if nothing is left to settle. */
export type DecidedCost = () => readonly [ReservedCharge, number] | undefined;

/** The final cost of a call, by its outcome; undefined keeps the charged cost. */
export type FinalCostOf = (policy: BoundPolicy, outcome: Outcome) => Answer<number | undefined>;

/**
 * A charge of one policy that is not final yet: a lease, or a cost that is settled later. Several calls may share it, such as
 * the fields of one operation. It stays pending until the last of them has ended.
 */
export class PendingCharge {
  /** What is settled at the end; undefined for a lease. */
  reserved: ReservedCharge | undefined;
  private readonly leases: HeldLease[] = [];
  /** The final costs by the calls that have ended. */
  private readonly costs: Answer<number | undefined>[] = [];
  /** The calls that have not ended, each with its handler's policy. */
  private readonly calls = new Map<object, BoundPolicy>();
  /** The calls whose end is certain to be reported. */
  private readonly begun = new Set<object>();
  private isOver = false;

  constructor(readonly charge: PolicyCharge) {}

  /** Whether another step of the request asks for this charge. */
  isOf({ key, policy, cost, headroom }: PolicyCharge): boolean {
    const { charge } = this;
    if (charge.key !== key || charge.cost !== cost || charge.headroom !== headroom) return false;
    return sameMeaning(charge.policy, policy);
  }

  /** Whether it is settled or released. */
  get isSettled(): boolean {
    return this.isOver;
  }

  /** Whether all calls have ended. */
  get isIdle(): boolean {
    return this.calls.size === 0;
  }

  /** Keeps the charge pending until a call has ended. Returns false if the call has joined before. */
  join(call: object, policy: BoundPolicy): boolean {
    const isNew = !this.calls.has(call);
    this.calls.set(call, policy);
    return isNew;
  }

  /** Adds a lease. It is renewed while a call that has begun is running. */
  hold(lease: HeldLease): void {
    this.leases.push(lease);
    if (this.begun.size > 0) lease.keep();
    else lease.confirm();
  }

  /** Notes that the end of a call is certain to be reported: the leases are renewed until then. */
  begin(call: object): void {
    if (!this.calls.has(call)) return;
    this.begun.add(call);
    for (const lease of this.leases) lease.keep();
  }

  hasBegun(call: object): boolean {
    return this.begun.has(call);
  }

  /** Notes that the end of a call may come later, or may never be reported. */
  rest(call: object): void {
    if (this.begun.delete(call) && this.begun.size === 0) for (const lease of this.leases) lease.confirm();
  }

  /** Ends a call. Calls `countIf` or `settle` of its policy once. */
  end(call: object, outcome: Outcome, finalCostOf: FinalCostOf): void {
    const policy = this.calls.get(call);
    if (policy === undefined) return;
    this.leave(call);
    if (this.leases.length === 0) this.costs.push(finalCostOf(policy, outcome));
  }

  /** Removes a call that was rejected: its handler does not run. */
  leave(call: object): void {
    this.calls.delete(call);
    // A call that another guard rejects never begins, and its end is never reported: its lease has to expire by itself.
    if (this.begun.delete(call) && this.begun.size === 0) for (const lease of this.leases) lease.lapse();
  }

  /**
   * The final cost, once all calls have ended and their functions have answered. The costs of the calls add up; one that keeps
   * its cost keeps that of the charge. Undefined if another call has joined meanwhile, whose end decides.
   */
  decided(): Answer<DecidedCost | undefined> {
    const known = this.costs.length;
    return andThen(allOf(this.costs), (costs) => {
      const isDecided = (): boolean => this.isIdle && this.costs.length === known && !this.isOver;
      if (!isDecided()) return undefined;
      // Checked again at the settlement: during the functions of other policies, calls may have joined, or the charge may have
      // been settled.
      return () => (isDecided() ? this.settle(costs) : undefined);
    });
  }

  /** Releases its leases. The next call of the request takes another one. */
  release(): void {
    if (this.leases.length === 0) return;
    for (const lease of this.leases) lease.release();
    this.isOver = true;
  }

  private settle(costs: readonly (number | undefined)[]): readonly [ReservedCharge, number] | undefined {
    this.isOver = true;
    const { reserved } = this;
    if (reserved === undefined) return undefined;
    const { cost } = reserved.receipt.charge;
    const known = costs.filter((one) => one !== undefined);
    const sum = known.reduce((before, one) => before + one, 0);
    const final = known.length === costs.length && known.length > 0 ? sum : Math.max(cost, sum);
    return [reserved, final];
  }
}
