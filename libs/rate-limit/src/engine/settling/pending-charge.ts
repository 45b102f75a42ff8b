import { sameMeaning } from '../../policy/state-claims.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { Outcome } from '../../policy/outcome.js';
import { allOf, andThen, type Answer } from '../../util/answer.js';
import type { Receipt } from '../judgement.js';
import type { ExpiringCharges } from './expiry/expiring-charges.js';
import type { HeldLease } from './leases.js';
import type { PolicyCharge } from '../policy-charge.js';
import { ReservedCharges } from './reserved-charges.js';

/** The part of a policy's charge on a request that one step has made. */
export interface ReservedStep {
  readonly receipt: Receipt;
  /** The receipts of the step's judgement: those of one judgement are settled in one call. */
  readonly receipts: readonly Receipt[];
  readonly cost: number;
  /** Settles it where it expires; undefined where it does not, and once that is settled. */
  readonly expiring?: ExpiringCharges | undefined;
}

/** The final cost of each step; empty if nothing is left to settle. */
export type DecidedCosts = () => readonly (readonly [ReservedStep, number])[];

/** The final cost of a call, by its outcome; undefined keeps the charged cost. */
export type FinalCostOf = (policy: BoundPolicy, outcome: Outcome) => Answer<number | undefined>;

/**
 * A charge of one policy that is not final yet: a lease, or a cost that is settled later. Several calls may share it, such as
 * the fields of one operation. It stays pending until the last of them has ended.
 */
export class PendingCharge {
  readonly leases: HeldLease[] = [];
  private readonly steps: ReservedStep[] = [];
  /** The final costs by the calls that have ended. */
  private readonly costs: Answer<number | undefined>[] = [];
  /** The calls that have not ended, each with its handler's policy. */
  private readonly calls = new Map<object, BoundPolicy>();
  /** The calls whose end is certain to be reported. */
  private readonly begun = new Set<object>();
  /** The final cost of the request; undefined while the charge is pending. */
  private settled: number | undefined;
  private slotsAreFree = true;

  /** The final cost of the policy's earlier charge on the request; 0 without one. */
  readonly base: number;
  /**
   * The last step that was settled earlier. If a later call costs more than all steps together, the difference is charged
   * there.
   */
  private readonly earlier: ReservedStep | undefined;

  /** @param before the policy's earlier charge on the request, which was settled; undefined without one */
  constructor(
    readonly charge: PolicyCharge,
    before: PendingCharge | undefined,
  ) {
    this.base = before?.finalCost ?? 0;
    this.earlier = before?.steps.at(-1) ?? before?.earlier;
  }

  /** Whether it is a charge of the same policy to the same identity. */
  isOf({ key, policy }: PolicyCharge): boolean {
    return this.charge.key === key && sameMeaning(this.charge.policy, policy);
  }

  /** The final cost of the request; undefined while the charge is pending. */
  get finalCost(): number | undefined {
    return this.settled;
  }

  /** Whether all calls have ended. */
  get isIdle(): boolean {
    return this.calls.size === 0;
  }

  /** The cost of its steps, which may be refunded, and of the earlier charge. */
  get total(): number {
    return this.steps.reduce((sum, { cost }) => sum + cost, this.base);
  }

  add(step: ReservedStep): void {
    this.steps.push(step);
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
   * The final costs of the steps, once all calls have ended and their functions have answered. The highest cost counts.
   * Undefined if another call has joined meanwhile, whose end decides.
   */
  decided(): Answer<DecidedCosts | undefined> {
    const known = this.costs.length;
    return andThen(allOf(this.costs), (costs) => {
      if (!this.isIdle || this.costs.length > known || this.settled !== undefined) return undefined;
      // Checked again at the settlement: during the functions of other policies, calls may have joined, or the charge may have
      // been settled.
      return () => (this.isIdle && this.costs.length === known && this.settled === undefined ? this.settle(costs) : []);
    });
  }

  /** Releases its leases. The next call of the request takes another one. */
  release(): void {
    if (this.leases.length === 0) return;
    for (const lease of this.leases) lease.release();
    this.settled = this.base;
  }

  /** Ends it before its calls do: releases its leases, and lets its steps cost nothing. */
  cancel(): DecidedCosts {
    this.calls.clear();
    this.begun.clear();
    for (const lease of this.leases.splice(0)) lease.release();
    this.settled = this.base;
    return () => this.steps.map((step) => [step, 0] as const);
  }

  /**
   * Claims departure slots that were never used, so that they can be refunded. Returns false if a settlement has changed them.
   */
  claimSlots(): boolean {
    if (!this.charge.algorithm.delays) return true;
    for (const { receipt } of this.steps.splice(0)) new ReservedCharges([receipt]).close();
    return this.slotsAreFree;
  }

  /**
   * Splits the final cost: each step pays its part, and the last step pays any excess. Several steps may charge one policy: the
   * middleware its cost, and the route the difference.
   */
  private settle(costs: readonly (number | undefined)[]): readonly [ReservedStep, number][] {
    const { steps, total } = this;
    const final = costs.length === 0 ? total : Math.max(...costs.map((cost) => cost ?? total));
    const { earlier, base } = this;
    // Without any step there is nothing to refund or charge.
    this.settled = steps.length === 0 && earlier === undefined ? base : Math.max(base, final);
    if (steps.length === 0 && earlier !== undefined && final > base) {
      // Its expiry is settled, or over: what it exceeds the earlier charge by is charged beside it.
      return [[{ ...earlier, expiring: undefined }, earlier.cost + final - base]];
    }
    let before = this.base;
    const parts = steps.map((step, i): [ReservedStep, number] => {
      const part = Math.max(0, final - before);
      before += step.cost;
      return [step, i < steps.length - 1 ? Math.min(part, step.cost) : part];
    });
    if (parts.some(([{ cost }, part]) => part !== cost)) this.slotsAreFree = false;
    return parts;
  }
}
