import { sameMeaning } from '../../policy/state-claims.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { Outcome } from '../../policy/outcome.js';
import { allOf, andThen, type Answer } from '../../util/answer.js';
import type { Receipt } from '../judgement.js';
import type { HeldLease } from './leases.js';
import type { PolicyCharge } from '../policy-charge.js';
import { ReservedCharges } from './reserved-charges.js';

/** The part of a policy's charge on a request that one step has made. */
export interface ReservedStep {
  readonly receipt: Receipt;
  /** The receipts of the step's judgement: those of one judgement are settled in one call. */
  readonly receipts: readonly Receipt[];
  readonly cost: number;
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
  /** What the request costs for good; undefined while the charge is pending. */
  private settled: number | undefined;
  private slotsAreFree = true;

  /** What the policy has charged the request before, for good. */
  readonly base: number;
  /** The last step that was settled before: what a later call costs beyond all of them is charged with it. */
  private readonly earlier: ReservedStep | undefined;

  /** @param before the same policy's charge that was settled before; undefined where there is none */
  constructor(
    readonly charge: PolicyCharge,
    before: PendingCharge | undefined,
  ) {
    this.base = before?.finalCost ?? 0;
    this.earlier = before?.steps.at(-1) ?? before?.earlier;
  }

  /** Whether the same policy has charged it to the same identity. */
  isOf({ key, policy }: PolicyCharge): boolean {
    return this.charge.key === key && sameMeaning(this.charge.policy, policy);
  }

  /** What the request costs for good; undefined while the charge is pending. */
  get finalCost(): number | undefined {
    return this.settled;
  }

  /** Whether no call is waited for. */
  get isIdle(): boolean {
    return this.calls.size === 0;
  }

  /** What it has charged so far and could refund, with what the request has cost before. */
  get total(): number {
    return this.steps.reduce((sum, { cost }) => sum + cost, this.base);
  }

  add(step: ReservedStep): void {
    this.steps.push(step);
  }

  /** Keeps the charge pending until a call has ended. False for a call that it waits for already. */
  join(call: object, policy: BoundPolicy): boolean {
    const isNew = !this.calls.has(call);
    this.calls.set(call, policy);
    return isNew;
  }

  /** Adds a lease, which is renewed while a call runs that has begun. */
  hold(lease: HeldLease): void {
    this.leases.push(lease);
    if (this.begun.size > 0) lease.keep();
  }

  /** The end of a call is certain to be told: its leases are renewed until then. */
  begin(call: object): void {
    if (!this.calls.has(call)) return;
    this.begun.add(call);
    for (const lease of this.leases) lease.keep();
  }

  /** Asks the function of the call's policy, once. */
  end(call: object, outcome: Outcome, finalCostOf: FinalCostOf): void {
    const policy = this.calls.get(call);
    if (policy === undefined) return;
    this.leave(call);
    if (this.leases.length === 0) this.costs.push(finalCostOf(policy, outcome));
  }

  /** The call was rejected after all: its handler does not run. */
  leave(call: object): void {
    this.calls.delete(call);
    // A call that another guard has rejected never begins, and nobody hears of its end: its lease ends by itself.
    if (this.begun.delete(call) && this.begun.size === 0) for (const lease of this.leases) lease.lapse();
  }

  /**
   * The costs of the steps when all calls have ended, and the functions of their policies have answered: the highest of their
   * costs counts. Undefined where another call has joined meanwhile, whose end is waited for.
   */
  decided(): Answer<DecidedCosts | undefined> {
    const known = this.costs.length;
    return andThen(allOf(this.costs), (costs) => {
      if (!this.isIdle || this.costs.length > known || this.settled !== undefined) return undefined;
      // Asked again when it is settled: others may have joined, or settled it, while the functions of other policies were waited for.
      return () => (this.isIdle && this.costs.length === known && this.settled === undefined ? this.settle(costs) : []);
    });
  }

  /** Releases its leases. The next call of the request takes another one. */
  release(): void {
    if (this.leases.length === 0) return;
    for (const lease of this.leases) lease.release();
    this.settled = this.base;
  }

  /** Frees departure slots that were never used. False where a settlement has changed them already. */
  claimSlots(): boolean {
    if (!this.charge.algorithm.delays) return true;
    for (const { receipt } of this.steps.splice(0)) new ReservedCharges([receipt]).close();
    return this.slotsAreFree;
  }

  /**
   * Each step pays its part, and the last one what exceeds all of them: the middleware and the route may charge one policy, the
   * route the difference.
   */
  private settle(costs: readonly (number | undefined)[]): readonly [ReservedStep, number][] {
    const { steps, total } = this;
    const final = costs.length === 0 ? total : Math.max(...costs.map((cost) => cost ?? total));
    const { earlier, base } = this;
    // Without a step of its own there is nothing to refund.
    this.settled = steps.length === 0 && earlier === undefined ? base : Math.max(base, final);
    if (steps.length === 0 && earlier !== undefined && final > base) return [[earlier, earlier.cost + final - base]];
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
