import type { HandlerContext } from '../metrics/decision-event.js';
import type { Monitor } from '../metrics/monitor.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import type { Decision } from '../policy/decision.js';
import type { ChargeMode } from '../stores/charge.js';
import { type ChargeReceipt, Receipt } from '../stores/receipt.js';
import { StoreDeadlineError } from '../stores/deadlines.js';
import { wasStoreAsked } from '../stores/redis/redis-failure.js';
import type { RateLimitStoreError, Verdict } from '../stores/store.js';
import { isPromise } from '../util/is-promise.js';
import { decisionOf, receiptsOfDecision } from './charged-decision.js';
import { LimiterUnavailableError } from './errors.js';
import type { Execution } from './execution.js';
import type { Fallback } from './fallback.js';
import { chargeOf, type PolicyCharge } from './policy-charge.js';
import type { StoreGateway } from './store-gateway.js';

/**
 * The engine: guard, middleware and `RateLimiter` decide here and nowhere else. It asks the denial cache, else the store
 * within the deadline, else the fallback.
 */
export class Limiter {
  /** Receipts to be refunded at the end of this turn of the event loop. */
  private readonly refunds: ChargeReceipt[] = [];

  /** @param keyPrefix how keys begin */
  constructor(
    private readonly keyPrefix: string,
    private readonly gateway: StoreGateway,
    private readonly fallback: Fallback,
    private readonly monitor: Monitor,
  ) {}

  /** Decisions of full in-process stores on a state that clients without room share. */
  get memoryOverflows(): number {
    return this.gateway.memoryOverflows + this.fallback.memoryOverflows;
  }

  /**
   * Makes a charge.
   *
   * @param identity the identity's tag; a policy that counts all clients together needs none
   * @throws {TypeError} when the cost is no whole number from 0
   */
  charge(policy: BoundPolicy, identity: string, cost: number, mode: ChargeMode = 'take'): PolicyCharge {
    return chargeOf(policy, this.keyPrefix, identity, cost, mode);
  }

  /**
   * Decides one request: charges every policy, or none.
   *
   * @param handler the handler of the request, for `onDecision`
   * @param execution what the request is a part of, where it has several steps: they have one deadline together
   * @throws {LimiterUnavailableError} when the store fails and a policy's `onStoreFailure` is `'closed'`
   */
  decide(
    charges: readonly PolicyCharge[],
    handler?: HandlerContext,
    execution?: Execution,
  ): Decision | Promise<Decision> {
    const { gateway, monitor } = this;
    const since = monitor.begin();
    const denied = gateway.denied(charges);
    if (denied !== undefined) {
      return monitor.decided(charges, decisionOf(charges, denied), 'denial-cache', handler, since);
    }
    const missed = execution?.missedDeadline;
    if (missed !== undefined) return this.fallBack(charges, missed, handler, since);
    let answer: Verdict | Promise<Verdict>;
    try {
      answer = gateway.consume(charges);
    } catch (error) {
      return this.undecided(charges, error, handler, since, execution);
    }
    if (!isPromise(answer)) {
      return monitor.decided(charges, decisionOf(charges, answer), 'store', handler, since);
    }
    return answer.then(
      (verdict) => monitor.decided(charges, decisionOf(charges, verdict), 'store', handler, since),
      (error: unknown) => this.undecided(charges, error, handler, since, execution),
    );
  }

  /**
   * The receipt of a decision that charged, for a part of its charges.
   *
   * @param part the charges that the receipt covers; default all of them
   */
  receiptOf(decision: Decision, part: (charge: ChargeReceipt) => boolean = () => true): Receipt {
    return new Receipt(receiptsOfDecision(decision).filter(part), (receipts) => this.refund(receipts));
  }

  /** Forgets the states under the keys, in the store and in the fallback. */
  async reset(keys: readonly string[]): Promise<void> {
    this.fallback.reset(keys);
    await this.gateway.reset(keys);
  }

  /** Collects the refunds of a turn: the last slot of a queue goes first, so that the one before it is the last then. */
  private refund(receipts: readonly ChargeReceipt[]): void {
    if (this.refunds.length === 0) {
      setImmediate(() => {
        this.gateway.refund(this.refunds.splice(0).toSorted((one, other) => other.resetAt - one.resetAt));
      });
    }
    this.refunds.push(...receipts);
  }

  private undecided(
    charges: readonly PolicyCharge[],
    error: unknown,
    handler: HandlerContext | undefined,
    since: number,
    execution: Execution | undefined,
  ): Decision {
    if (wasStoreAsked(error)) this.monitor.storeFailed(charges, since);
    const cause = this.gateway.failure(error);
    if (execution !== undefined && cause instanceof StoreDeadlineError) execution.missedDeadline = cause;
    return this.fallBack(charges, cause, handler, since);
  }

  private fallBack(
    charges: readonly PolicyCharge[],
    cause: RateLimitStoreError,
    handler: HandlerContext | undefined,
    since: number,
  ): Decision {
    let decision: Decision;
    try {
      decision = this.fallback.decide(charges, cause);
    } catch (unavailable) {
      if (unavailable instanceof LimiterUnavailableError) {
        this.monitor.closed(charges, unavailable.retryAfterMs, handler, since);
      }
      throw unavailable;
    }
    return this.monitor.decided(charges, decision, decision.decidedBy, handler, since);
  }
}
