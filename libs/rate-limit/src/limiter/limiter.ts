import type { HandlerContext } from '../metrics/decision-event.js';
import type { Monitor } from '../metrics/monitor.js';
import type { OverrideStats, TokenLeaseCounts } from '../metrics/stats.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import type { Decision } from '../policy/decision.js';
import { type ChargeMode, isPlain } from '../stores/charge.js';
import type { PlainVerdict } from '../stores/judge.js';
import { type ChargeReceipt, Receipt } from '../stores/receipt.js';
import { StoreDeadlineError } from '../stores/deadlines.js';
import { wasStoreAsked } from '../stores/redis/redis-failure.js';
import type { RateLimitStoreError, Verdict } from '../stores/store.js';
import { isPromise } from '../util/is-promise.js';
import type { RecentClient } from './call-charges.js';
import { decisionOf, decisionOfOverrides, decisionOfPlain, receiptsOfDecision } from './charged-decision.js';
import { LimiterUnavailableError } from './errors.js';
import type { Execution } from './execution.js';
import type { Fallback } from './fallback.js';
import { ActiveOverrides, type OverriddenRequest } from './overrides/active-overrides.js';
import type { ActiveOverride } from './overrides/override-table.js';
import { chargeOf, type PolicyCharge } from './policy-charge.js';
import { Reservation } from './reservation.js';
import { ReservedCharges } from './reserved-charges.js';
import type { StoreGateway } from './store-gateway.js';

/** A limiter without overrides of its own has nothing to say of them. */
const NO_LOGGER = { warn: (): void => undefined };

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
    private readonly overrides: ActiveOverrides = new ActiveOverrides(NO_LOGGER),
  ) {}

  /** Decisions of full in-process stores on a state that clients without room share. */
  get memoryOverflows(): number {
    return this.gateway.memoryOverflows + this.fallback.memoryOverflows;
  }

  /** The tokens that the store has leased to this process. */
  get tokenLeases(): TokenLeaseCounts {
    return this.gateway.tokenLeases?.counts ?? { leased: 0, returned: 0, expired: 0 };
  }

  /** The overrides that are obeyed. */
  get overrideStats(): OverrideStats {
    return { count: this.overrides.size, loaded: this.overrides.loaded };
  }

  /**
   * Makes a charge.
   *
   * @param identity the identity's tag; a policy that counts all clients together needs none
   * @throws {TypeError} when the cost is no whole number from 0
   */
  charge(policy: BoundPolicy, identity: string, cost: number, mode: ChargeMode = modeOf(policy)): PolicyCharge {
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
    if (this.overrides.size !== 0) {
      const overridden = this.overrides.apply(charges);
      if (overridden !== undefined) return this.decideOverridden(charges, overridden, handler, execution);
    }
    return this.ask(charges, handler, execution);
  }

  /** As `decide`, for a client whose charges are kept. In the process it costs one look at the state, and one decision. */
  decideRecent(client: RecentClient): Decision | Promise<Decision> {
    const { charges, plain, policies } = client;
    const { memory } = this.gateway;
    if (plain === undefined || memory === undefined) return this.decide(charges);
    if (this.overrides.size !== 0 && this.overrides.apply(charges) !== undefined) return this.decide(charges);
    const { monitor } = this;
    const policy = policies[0]!;
    const since = monitor.begin();
    let verdict: PlainVerdict;
    try {
      verdict = memory.consumePlain(client, plain, policy.algorithm, policy.cost as number);
    } catch (error) {
      return this.undecided(charges, error, undefined, since, undefined);
    }
    return monitor.decidedPlain(policy, decisionOfPlain(charges, plain, policy, undefined, verdict), since);
  }

  /**
   * Call it before a decision that must not be a promise. Nothing is charged.
   *
   * @param where how the error begins
   * @throws {TypeError} when the store answers with a promise
   */
  expectAnswersAtOnce(charges: readonly PolicyCharge[], where: string): void {
    if (!this.gateway.answersAtOnce(charges)) throw this.gateway.answersLater(where);
  }

  /** The error of a store that has answered with a promise, and did not before. */
  answeredLater(decision: Promise<Decision>, where: string): TypeError {
    decision.then(undefined, () => undefined); // it is counted, and nobody waits for it
    return this.gateway.answersLater(where);
  }

  /** A policy of which the client is exempt is left out. One that blocks the client rejects, and the store is not asked. */
  private decideOverridden(
    all: readonly PolicyCharge[],
    { charges, blocked, exempt, changed }: OverriddenRequest,
    handler: HandlerContext | undefined,
    execution: Execution | undefined,
  ): Decision | Promise<Decision> {
    const { monitor, overrides } = this;
    const since = monitor.begin();
    if (all[0]!.mode !== 'peek') monitor.overridden(changed, exempt, blocked.length);
    if (blocked.length === 0 && charges.length > 0) return this.ask(charges, handler, execution);
    const decision = decisionOfOverrides(blocked, overrides.nowMs());
    const rejecting = blocked.map(({ charge }) => charge);
    return monitor.decidedByOverrides(all[0]!.mode, rejecting, decision, handler, since);
  }

  private ask(
    charges: readonly PolicyCharge[],
    handler: HandlerContext | undefined,
    execution: Execution | undefined,
  ): Decision | Promise<Decision> {
    const { gateway, monitor } = this;
    const since = monitor.begin();
    const leased = gateway.tokenLeases?.pay(charges);
    if (leased !== undefined) {
      return monitor.decided(charges, decisionOf(charges, leased, 'lease'), 'lease', handler, since);
    }
    const denied = gateway.denied(charges);
    if (denied !== undefined) {
      return monitor.decided(charges, decisionOf(charges, denied), 'denial-cache', handler, since);
    }
    const missed = execution?.missedDeadline;
    if (missed !== undefined) return this.fallBack(charges, missed, handler, since);
    let answer: Verdict | Promise<Verdict>;
    let plain: PlainVerdict | undefined;
    const charge = charges[0]!;
    try {
      if (gateway.memory !== undefined && charges.length === 1 && charge.mode === 'take' && isPlain(charge)) {
        answer = plain = gateway.memory.consumePlain(undefined, charge, charge.algorithm, charge.cost);
      } else answer = gateway.decide(charges);
    } catch (error) {
      return this.undecided(charges, error, handler, since, execution);
    }
    if (plain !== undefined) {
      const decision = decisionOfPlain(charges, charge, charge.policy, charge.override, plain);
      return monitor.decided(charges, decision, 'store', handler, since);
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

  /** Decides charges of mode `'reserve'`. Throws as `decide` does. */
  async reserve(charges: readonly PolicyCharge[]): Promise<Reservation> {
    const decision = await this.decide(charges);
    return new Reservation(decision, new ReservedCharges(decision, this.gateway, this.fallback));
  }

  /** The policy's state for an identity under the numbers of its override; undefined where there is none of its own. */
  overriddenCharge(policy: BoundPolicy, identity: string): PolicyCharge | undefined {
    const variant = this.overrides.variantFor(policy, identity);
    return variant === policy ? undefined : this.charge(variant, identity, 0, 'peek');
  }

  /** The override of a policy for an identity that is in force in this process; undefined without one. */
  overrideOf(policy: BoundPolicy, identity: string): ActiveOverride | undefined {
    return this.overrides.size === 0 ? undefined : this.overrides.find(policy, identity);
  }

  /** Forgets the states under the keys, in the store and in the fallback. */
  async reset(keys: readonly string[]): Promise<void> {
    this.fallback.reset(keys);
    await this.gateway.reset(keys);
  }

  /** Returns the tokens of this process that nothing has used. Requests that come after are still decided. */
  async close(): Promise<void> {
    await this.gateway.tokenLeases?.close();
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

/** What a policy is asked for a request: one that is settled after the response is reserved. */
function modeOf({ countIf, settle }: BoundPolicy): ChargeMode {
  return countIf === undefined && settle === undefined ? 'take' : 'reserve';
}
