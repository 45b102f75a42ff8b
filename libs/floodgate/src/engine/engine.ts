import type { HandlerContext } from '../watch/decision-event.js';
import type { DecisionMonitor } from '../watch/monitor.js';
import type { OverrideStats } from '../watch/stats.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import type { Decision } from '../policy/decision.js';
import { reserves } from '../stores/charge.js';
import { type ChargeReceipt, isLasting } from '../stores/receipt.js';
import { StoreDeadlineError } from '../stores/deadlines.js';
import type { RateLimitStoreError } from '../stores/store.js';
import { wasStoreAsked } from '../stores/unavailable.js';
import { atTurnsEnd } from '../util/real-timers.js';
import { type Answer, attempt } from '../util/answer.js';
import type { RateLimitConfigError } from '../util/config-error.js';
import { isPromise } from '../util/is-promise.js';
import { unawaited } from '../util/unawaited.js';
import type { Decider, Front, LimitedRequest } from '../charges/decider.js';
import type { Execution } from '../charges/execution.js';
import { PlainPath } from '../layers/plain/plain-path.js';
import type { Fallback } from './fallback.js';
import { Judgement, type Receipt } from '../charges/judgement.js';
import { ElseLayer, UnmadeCharge } from '../layers/alternatives/else.js';
import { OverridesLayer } from '../layers/overrides/overrides.js';
import type { ActiveOverrides } from '../layers/overrides/active-overrides.js';
import type { ActiveOverride } from '../layers/overrides/override-table.js';
import { chargeOf, hasLateNumbers, type PolicyCharge } from '../charges/policy-charge.js';
import { Reservation } from '../holds/settlements/reservation.js';
import { ReservedCharges } from '../holds/settlements/reserved-charges.js';
import type { LayerVerdict } from '../charges/layer-verdict.js';
import type { LayeredStore } from './layered-store.js';

/** A request that is being decided, and its waiting caller. */
class Question<T> implements LimitedRequest {
  /** Why the store could not decide, where the process decides in its place. */
  cause: RateLimitStoreError | undefined = undefined;

  /**
   * @param as continues with the judgement: a separate `then` would cost one more promise
   * @param failed continues where nothing decides
   * @param since when the decision began, for `onDecision` and the metrics
   */
  constructor(
    readonly charges: readonly PolicyCharge[],
    readonly as: (judgement: Judgement) => Answer<T>,
    readonly failed: (error: unknown) => Answer<T>,
    readonly since: number,
    readonly handler?: HandlerContext,
    readonly execution?: Execution,
  ) {}
}

/**
 * Makes every decision of the guard, the middleware and `RateLimiter`. A request passes the layers in front of the store,
 * `else` and overrides first. If they fail, the fallback decides instead, behind the same two.
 */
export class Engine {
  /** Receipts to be refunded at the end of this turn of the event loop. */
  private readonly refunds: ChargeReceipt[] = [];
  private readonly chain: Decider;
  /** Decides where the store has failed. */
  private readonly local: Decider;
  /** Undefined if the store has no fast path. */
  readonly plain: PlainPath | undefined;

  /**
   * @param front stands behind the overrides and in front of all else; default: nothing
   */
  constructor(
    private readonly store: LayeredStore,
    private readonly fallback: Fallback,
    private readonly monitor: DecisionMonitor,
    private readonly overrides: ActiveOverrides,
    front?: Front,
  ) {
    const { traits, open, chain } = store;
    this.plain = traits.plain && new PlainPath(traits.plain, open, overrides, monitor);
    this.chain = new ElseLayer({
      inner: new OverridesLayer(overrides, front?.over(chain) ?? chain),
      monitor,
      overrides,
      decidesAlternatives: traits.decidesAlternatives,
      deadlines: store.deadlines,
      abandoned: (charges, verdict) => this.abandoned(charges, verdict),
    });
    const withoutStore: Decider = { decide: ({ charges, cause }) => fallback.decide(charges, cause!) };
    this.local = new ElseLayer({
      inner: new OverridesLayer(overrides, front?.overLocal(withoutStore) ?? withoutStore),
      monitor,
      overrides,
      // Each policy of a row has its own `onStoreFailure`. In the process nothing happens between two questions.
      decidesAlternatives: () => false,
      deadlines: { ms: Infinity },
      abandoned: () => undefined,
    });
  }

  /** Decisions that full in-process stores made on a shared overflow state. */
  get memoryOverflows(): number {
    return this.store.memoryOverflows + this.fallback.memoryOverflows;
  }

  /** Counts of the overrides in force. */
  get overrideStats(): OverrideStats {
    return { count: this.overrides.size, loaded: this.overrides.loaded };
  }

  /**
   * Decides one request: charges every policy, or none.
   *
   * @param handler the handler of the request, for `onDecision`
   * @param execution the execution that the request is a part of, such as a GraphQL operation: its parts share one deadline
   * @throws {LimiterUnavailableError} when the store fails and a policy's `onStoreFailure` is `'closed'`
   */
  decide(charges: readonly PolicyCharge[], handler?: HandlerContext, execution?: Execution): Answer<Judgement> {
    return this.judge(new Question(charges, itself, rethrow, this.monitor.begin(), handler, execution));
  }

  /** Decides one request, and returns the decision without its receipts. */
  decision(charges: readonly PolicyCharge[]): Answer<Decision> {
    return this.judge(new Question(charges, decisionAlone, rethrow, this.monitor.begin()));
  }

  /**
   * Checks that the store answers without a promise. Call it before a synchronous decision. It charges nothing.
   *
   * @param where how the error begins
   * @throws {RateLimitConfigError} when the store answers with a promise
   */
  expectAnswersAtOnce(charges: readonly PolicyCharge[], where: string): void {
    if (!this.store.answersAtOnce(charges)) throw this.store.answersLater(where);
  }

  /** The error for a store that answered without a promise before, and now returns one. */
  answeredLater(decision: PromiseLike<Decision>, where: string): RateLimitConfigError {
    decision.then(undefined, () => undefined); // it is counted, and nobody waits for it
    return this.store.answersLater(where);
  }

  /**
   * Decides one request, and continues with its judgement. A separate `then` would cost one more promise.
   *
   * @param failed continues with what `decide` throws
   */
  decideThen<T>(
    charges: readonly PolicyCharge[],
    next: (judgement: Judgement) => Answer<T>,
    failed: (error: unknown) => Answer<T>,
  ): Answer<T> {
    return this.judge(new Question(charges, next, failed, this.monitor.begin()));
  }

  private judge<T>(question: Question<T>): Answer<T> {
    let answer: Answer<LayerVerdict>;
    // `attempt` is not used here: every decision would pay for its closures.
    try {
      answer = this.chain.decide(question);
    } catch (error) {
      return this.fallBack(question, error);
    }
    if (!isPromise(answer)) return this.answer(question, answer);
    return answer.then(
      (verdict) => this.answer(question, verdict),
      (error: unknown) => this.fallBack(question, error),
    );
  }

  private answer<T>(question: Question<T>, verdict: LayerVerdict): Answer<T> {
    let judgement: Judgement;
    try {
      judgement = this.judged(question, verdict);
    } catch (error) {
      return question.failed(error);
    }
    return question.as(judgement);
  }

  /**
   * Counts a verdict, and makes a judgement of it.
   *
   * @throws {LimiterUnavailableError} when the verdict carries this error
   */
  private judged({ charges, handler, since }: Question<unknown>, verdict: LayerVerdict): Judgement {
    const { monitor } = this;
    const { source = 'store', asked = charges, overridden, unavailable } = verdict;
    // The request is decided once more, and that decision counts.
    if (!verdict.allowed && unavailable === undefined && charges.some(hasLateNumbers)) {
      return Judgement.of(charges, verdict, undefined);
    }
    let counted = asked;
    if (overridden !== undefined) {
      const { changed, exempt, blocked } = overridden;
      if (charges[0]!.mode !== 'peek') monitor.overridden(changed, exempt, blocked);
      counted = asked.filter((_, i) => verdict.charges[i]!.unasked !== 'override');
    }
    if (unavailable !== undefined) {
      monitor.closed(counted, unavailable.retryAfterMs, handler, since);
      throw unavailable;
    }
    const keeper = source === 'store' ? this.store : source === 'local' ? this.fallback : undefined;
    const judgement = Judgement.of(charges, verdict, keeper);
    if (verdict.allowed && keeper !== undefined) {
      for (const watch of keeper.watches) watch.decided(asked, verdict, keeper);
    }
    if (source === 'override') monitor.decidedByOverrides(asked, counted, judgement.decision, handler, since);
    else monitor.decided(counted, judgement.decision, source, handler, since);
    return judgement;
  }

  /** Decides without the store, which has failed. */
  private fallBack<T>(question: Question<T>, error: unknown): Answer<T> {
    const { charges, execution, failed, since } = question;
    if (UnmadeCharge.is(error)) return failed(error.reason);
    const cause = this.store.failure(error);
    if (wasStoreAsked(cause)) this.monitor.storeFailed(charges, since);
    if (execution !== undefined && cause instanceof StoreDeadlineError) execution.missedDeadline = cause;
    question.cause = cause;
    return attempt<LayerVerdict, T>(
      () => this.local.decide(question),
      (verdict) => this.answer(question, verdict),
      (thrown) => failed(UnmadeCharge.is(thrown) ? thrown.reason : thrown),
    );
  }

  /**
   * Refunds charges where they were made: at most once, best effort, never beyond the limit. The store hears of them at the end
   * of this turn. The slots of a queue come back from the last one on.
   */
  refund(receipts: readonly Receipt[]): void {
    const reserved = new ReservedCharges(receipts);
    if (reserved.receipts.length > 0) unawaited(reserved.settle(reserved.receipts.map(() => 0)));
    const made: ChargeReceipt[] = [];
    for (const { charge, proof, keeper } of receipts) {
      if (proof.cost === 0 || reserves(charge)) continue;
      if (keeper.by !== 'store') keeper.refund([proof]);
      else if (!this.store.returnSlot(proof)) made.push(proof);
    }
    if (made.length === 0) return;
    if (this.refunds.length === 0) {
      atTurnsEnd(() => this.store.refund(this.refunds.splice(0)));
    }
    this.refunds.push(...made);
  }

  /** Refunds the leases, reservations and slots of a request that has its answer already. */
  private abandoned(charges: readonly PolicyCharge[], verdict: LayerVerdict): void {
    const { source = 'store' } = verdict;
    const { receipts } = Judgement.of(charges, verdict, source === 'store' ? this.store : undefined);
    this.refund(receipts.filter(({ charge }) => isLasting(charge)));
  }

  /** Decides charges of mode `'reserve'`. Throws as `decide` does. */
  reserve(charges: readonly PolicyCharge[]): Answer<Reservation> {
    return this.judge(new Question(charges, reservationOf, rethrow, this.monitor.begin()));
  }

  /** A peek under the numbers of the identity's override; undefined if no override changes the policy's numbers. */
  overriddenCharge(policy: BoundPolicy, identity: string): PolicyCharge | undefined {
    const variant = this.overrides.variantFor(policy, identity);
    return variant === policy ? undefined : chargeOf(variant, identity, 0, 'peek');
  }

  /** The override of a policy for an identity that is in force in this process; undefined without one. */
  overrideOf(policy: BoundPolicy, identity: string): ActiveOverride | undefined {
    return this.overrides.size === 0 ? undefined : this.overrides.find(policy, identity);
  }

  /** Forgets the states under the keys, in the store and in the fallback. Returns what `RateLimitStore.reset` does. */
  reset(keys: readonly string[]): Promise<number | void> {
    this.fallback.reset(keys);
    return this.store.reset(keys);
  }

  /** Ends the work of the layers and of what watches. Requests that come after are still decided. */
  async close(): Promise<void> {
    const { layers, watches, deadlines } = this.store;
    for (const part of [...layers, ...watches]) {
      const work = part.close?.();
      // A part's calls wait for late answers. The end of the process does not.
      if (work !== undefined) await deadlines.within(work).catch(() => undefined);
    }
  }
}

const itself = (judgement: Judgement): Judgement => judgement;
const reservationOf = ({ decision, receipts, charges }: Judgement): Reservation =>
  new Reservation(decision, new ReservedCharges(receipts), charges);
const decisionAlone = ({ decision }: Judgement): Decision => decision;
const rethrow = (error: unknown): never => {
  throw error;
};
