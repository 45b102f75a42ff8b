import type { BoundPolicy } from '../policy/bound-policy.js';
import type { Outcome } from '../policy/outcome.js';
import { adopted, isPromise } from '../util/is-promise.js';
import { allOf, andThen, type Answer, answerOf } from '../util/answer.js';
import type { CallCharges, ScheduledCharges } from '../engine/calls/call-charges.js';
import type { Engine } from '../engine/engine.js';
import { LimiterUnavailableError } from '../charges/errors.js';
import type { Judgement } from '../charges/judgement.js';
import type { PolicyCharge } from '../charges/policy-charge.js';
import type { Holds, ReservedCharge } from '../holds/pending/holds.js';
import { wholeCost } from '../holds/settlements/final-cost.js';
import { costsByName, isByName } from '../charges/cost-by-name.js';
import { reserves } from '../stores/charge.js';
import type { CallQueue } from './call-queue.js';
import type { CheckedSchedule } from './schedule-options.js';
import type { ScheduledCall, Turn } from './scheduled-call.js';
import { RunningWork } from '../util/running-work.js';
import { unawaited } from '../util/unawaited.js';

/** What a scheduled call runs. */
export type Work<T> = () => T | PromiseLike<T>;

/** What a call has cost: under all policies, or under those that are named; undefined: what it was charged. */
type FinalCost = number | ReadonlyMap<string, number> | undefined;

/** A scheduled call. */
interface Run<T> {
  readonly scheduled: ScheduledCharges;
  readonly work: Work<T>;
  readonly checked: CheckedSchedule;
}

/** Runs calls in their turns, and settles them. */
export class Scheduler {
  /** The calls that hold leases, or whose cost is not final, and what settles them. */
  private readonly running = new RunningWork();

  /**
   * @param engine counts a call once, when it gets its turn
   * @param charges makes the charges that this engine decides on
   */
  constructor(
    private readonly engine: Pick<Engine, 'decideThen' | 'plain'>,
    readonly charges: CallCharges,
    readonly queue: CallQueue,
    private readonly holds: Holds,
  ) {}

  /** Waits for the call's turn, runs it and settles it. Throws as `RateLimiter.schedule` does. */
  run<T>(scheduled: ScheduledCharges, work: Work<T>, checked: CheckedSchedule): T | PromiseLike<T> {
    const answer = this.begin({ scheduled, work, checked });
    return scheduled.isFinal ? answer : this.running.track(answer);
  }

  private begin<T>(run: Run<T>): T | PromiseLike<T> {
    const { queue } = this;
    const { scheduled } = run;
    const { charges } = scheduled;
    const { signal, maxWaitMs } = run.checked;
    if (signal?.aborted === true) throw queue.counted(charges, 'aborted', signal.reason as unknown);
    const gate = queue.gateBefore(charges);
    if (gate !== undefined) {
      return this.inTurn(queue.queueBehind(gate, charges, signal, maxWaitMs), run);
    }
    // A call without a signal needs no way to leave while its question takes less than its `maxWait`.
    if (signal !== undefined || queue.mayLeaveEarly(maxWaitMs)) {
      const call = queue.begin(charges, signal, maxWaitMs);
      queue.ask(call);
      return this.inTurn(call, run);
    }
    return this.askFirst(run);
  }

  private inTurn<T>(call: ScheduledCall, run: Run<T>): Promise<T> {
    return call.turn.then((turn) => this.take(turn, run));
  }

  /** Asks for a call without others before it. */
  private askFirst<T>(run: Run<T>): Answer<T> {
    const { scheduled } = run;
    const { plain } = scheduled;
    const fast = plain && !this.queue.isClosed ? this.engine.plain?.decide(plain) : undefined;
    if (fast?.allowed === true) {
      this.queue.tallies.count(scheduled.charges, 'atOnce');
      return answerOf(run.work());
    }
    // The layers decide on a rejection once more: the queue needs their judgement. A rejection charges nothing.
    const order = this.queue.next();
    const since = this.queue.nowMs();
    return this.engine.decideThen<T>(
      scheduled.charges,
      (judgement) => this.judged(order, since, judgement, run),
      (error) => this.unavailable(run, order, since, error),
    );
  }

  private judged<T>(order: number, since: number, judgement: Judgement, run: Run<T>): Answer<T> {
    const { scheduled, work, checked } = run;
    const { allowed, delayMs } = judgement.decision;
    if (allowed && delayMs === 0 && !this.queue.isClosed) {
      this.queue.tallies.count(scheduled.charges, 'atOnce');
      return scheduled.isFinal
        ? answerOf(work())
        : this.settled(this.queue.turnOf(judgement), scheduled.charges, work, checked);
    }
    let call: ScheduledCall;
    try {
      call = this.queue.begin(scheduled.charges, undefined, checked.maxWaitMs, order, since);
    } catch (error) {
      if (allowed) this.queue.refund(this.queue.turnOf(judgement));
      throw error;
    }
    this.queue.answered(call, undefined, judgement);
    return this.inTurn(call, run);
  }

  /** Lets a call wait that the limiter could not decide on. */
  private unavailable<T>(run: Run<T>, order: number, since: number, error: unknown): Promise<T> {
    const { scheduled, checked } = run;
    if (!(error instanceof LimiterUnavailableError)) throw this.queue.counted(scheduled.charges, 'failed', error);
    const call = this.queue.begin(scheduled.charges, undefined, checked.maxWaitMs, order, since);
    this.queue.failed(call, undefined, error);
    return this.inTurn(call, run);
  }

  private take<T>(turn: Turn, { scheduled, work, checked }: Run<T>): Answer<T> {
    if (scheduled.isFinal) return answerOf(work());
    return this.settled(turn, scheduled.charges, work, checked);
  }

  /** Resolves once all calls that hold leases, or whose cost is not final, have ended and are settled. */
  stop(): Promise<void> {
    return this.running.ended();
  }

  /** Runs a call that holds leases, or whose cost is not final. */
  private async settled<T>(
    { receipts, leases }: Turn,
    charges: readonly PolicyCharge[],
    work: Work<T>,
    { costOf, until }: CheckedSchedule,
  ): Promise<T> {
    const reserved = this.holds.reservedOf(receipts, charges);
    const since = performance.now();
    const release = (): void => {
      for (const lease of leases) lease.release();
      this.queue.gates.freedSoon(leases.map(({ index }) => receipts.find((one) => one.index === index)!.charge.key));
    };
    const end = (value: unknown, error: unknown, hasFailed: boolean): void => {
      const held = leases.length === 0 ? undefined : this.heldUntil(until, value, error);
      if (held === undefined) release();
      else unawaited(this.running.track(adopted(held).then(release, release)));
      const durationMs = performance.now() - since;
      this.settle(
        reserved,
        charges,
        { status: undefined, value, error, durationMs, aborted: false },
        hasFailed,
        costOf,
      );
    };
    let value: T;
    try {
      value = await work();
    } catch (error) {
      end(undefined, error, true);
      throw error;
    }
    end(value, undefined, false);
    return value;
  }

  /** The work that keeps the leases of a call that has ended. */
  private heldUntil(until: CheckedSchedule['until'], value: unknown, error: unknown): PromiseLike<unknown> | undefined {
    try {
      const held = until?.(value as never, error);
      return isPromise(held) ? held : undefined;
    } catch (failure) {
      this.holds.functions.failed('settle', 'until of RateLimiter.schedule failed, the leases are released', failure);
      return undefined;
    }
  }

  /** Settles the reserved charges of a call that has ended. The caller does not wait for it. */
  private settle(
    reserved: readonly ReservedCharge[],
    charges: readonly PolicyCharge[],
    outcome: Outcome,
    hasFailed: boolean,
    costOf: CheckedSchedule['costOf'],
  ): void {
    if (reserved.length === 0) return;
    const finalCost = this.finalCost(charges, outcome, hasFailed, costOf);
    const costs = reserved.map(({ receipt, policy }) =>
      andThen(finalCost(policy), (final) => final ?? receipt.charge.cost),
    );
    const settled = andThen(allOf(costs), (finals) => this.holds.settle(reserved.map((one, n) => [one, finals[n]!])));
    const freed = andThen(settled, () => this.queue.gates.freedSoon(reserved.map(({ receipt }) => receipt.charge.key)));
    unawaited(this.running.track(freed));
  }

  /** The final cost under each policy: by the call's own function, asked once, else by the policy's. */
  private finalCost(
    charges: readonly PolicyCharge[],
    outcome: Outcome,
    hasFailed: boolean,
    costOf: CheckedSchedule['costOf'],
  ): (policy: BoundPolicy) => Answer<number | undefined> {
    if (costOf === undefined) return (policy) => this.holds.finalCost(policy, outcome);
    // A call that fails may have reached the other side: its estimate stays charged.
    if (hasFailed) return () => undefined;
    const cost = this.holds.functions.call<FinalCost>(
      'settle',
      'cost of RateLimiter.schedule failed, the estimate stays charged',
      () => andThen(answerOf(costOf(outcome.value as never)), (returned) => finalCostOf(returned, charges)),
      () => undefined,
    );
    return ({ name }) => andThen(cost, (final) => (typeof final === 'object' ? final.get(name) : final));
  }
}

/** @throws when a function of the application returned no cost, or names another policy than those that are settled */
function finalCostOf(returned: unknown, charges: readonly PolicyCharge[]): FinalCost {
  if (!isByName(returned)) return wholeCost(returned);
  const settled = charges.filter(reserves).map(({ policy }) => policy);
  return costsByName(returned, settled, 'RateLimiter.schedule', 'cost of the result');
}
