import type { Identity } from '../identity/identity.js';
import { identityTag } from '../identity/identity-tag.js';
import type { RateLimitStats } from '../metrics/stats.js';
import type { Monitor } from '../metrics/monitor.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import { candidateName } from '../policy/candidate.js';
import type { Decision } from '../policy/decision.js';
import { isPromise } from '../util/is-promise.js';
import { checkConsumable, checkOptions, hasZoneOfRequest, isConcurrency, names } from './call-arguments.js';
import { CallCharges, type CallOptions, hasEffect } from './call-charges.js';
import type { LimitExplanation } from './explain.js';
import { type Insight, isResetTarget, type ResetTarget, type RouteReference } from './insight.js';
import { isIdentity, tagOf } from './insight-arguments.js';
import { Lease } from './lease.js';
import type { Leases } from './leases.js';
import type { Limiter } from './limiter.js';
import type { LimiterPolicies, LimiterPolicy } from './limiter-policies.js';
import type { Plans } from './plans.js';
import type { Reservation } from './reservation.js';
import { type ResetState, resetStates } from './reset-states.js';
import type { LimitTable } from './table.js';
import type { TimeZones } from './time-zones.js';
import type { WaitingRoom } from './waiting-room.js';

export type { ResetState } from './reset-states.js';

const CONSUME_SYNC = 'RateLimiter.consumeSync';

/** A handler's class. */
export interface HandlerClass {
  readonly name: string;
  readonly prototype: object;
}

/** The policies of the application's routes, as the framework knows them. */
export interface RoutePolicySource {
  /**
   * The policies of a route; undefined for a route that nothing limits.
   *
   * @throws {TypeError} when the class has no such handler, or a function chooses the route's policies by the request
   */
  policiesOf(controller: HandlerClass, method: string): readonly BoundPolicy[] | undefined;
  /** Where a policy of this name stands on routes. */
  boundTo(name: string): Iterable<BoundPolicy>;
}

/**
 * Decides without HTTP: in queue consumers, jobs and gateways. Its policies need a name, and count across the application
 * (scope `'app'`): a route whose policy has that scope and name shares their state.
 *
 * @example
 * ```ts
 * const decision = await limiter.consume('emails', { kind: 'user', value: user.id }, { cost: recipients.length });
 * if (!decision.allowed) await retryIn(decision.retryAfterMs);
 * ```
 */
export class RateLimiter {
  private readonly callCharges: CallCharges;

  /** @internal The module makes it; inject it. */
  constructor(
    private readonly limiter: Limiter,
    private readonly policies: LimiterPolicies,
    private readonly routes: RoutePolicySource,
    private readonly monitor: Monitor,
    private readonly waitingRoom: Pick<WaitingRoom, 'size'>,
    plans: Pick<Plans<never>, 'lastKnown'> | undefined,
    private readonly leases: Leases,
    private readonly insight: Insight,
    private readonly timeZones: Pick<TimeZones<never>, 'look'>,
  ) {
    this.callCharges = new CallCharges(limiter, plans);
  }

  /**
   * Charges every policy, or none.
   *
   * @param policies one or several, each with a name; their `skipIf` needs a request and is not asked
   * @param identity the identity to count; a policy with `by: 'global'` counts all clients together
   * @param options.cost a whole number from 0 (a peek); default the policy's own `cost`, else 1
   * @param options.timeZone the client's time zone, needed for policies whose time zone is a function
   * @param options.plan the client's plan, for policies with `plans`; null for none. Default the last known plan of the identity,
   *   else the fallback of the module's `plan`, which has `resolve` answer for requests only
   * @throws {TypeError} when the cost, the plan or the time zone is something else, for a plan or a time zone where no policy asks
   *   for any, for policies with plans where neither the call nor the module has a plan, for another option, and for a concurrency policy, whose leases `acquire`
   *   takes; nothing is charged
   * @throws {RateLimitConfigError} when a policy is wrong, unknown or has no name
   * @throws {LimiterUnavailableError} when the store fails and `onStoreFailure` is `'closed'`
   */
  consume(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity,
    options?: { cost?: number; plan?: string | null; timeZone?: string },
  ): Promise<Decision> {
    // Not an async function: its promise would be one more for every decision.
    try {
      const decision = this.decide('consume', policies, identity, options);
      return decision instanceof Promise ? decision : Promise.resolve(decision);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * As `consume`, without a promise, for a store that answers at once: `MemoryStore`, or a store of the application whose `consume`
   * returns no promise. Errors are thrown.
   *
   * @throws as `consume` rejects, and {TypeError} where the store answers later, as `RedisStore` does; nothing is charged
   * @example if (!limiter.consumeSync('events', { kind: 'user', value: user.id }).allowed) return;
   */
  consumeSync(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity,
    options?: { cost?: number; plan?: string | null; timeZone?: string },
  ): Decision {
    const decision = this.decide('consumeSync', policies, identity, options);
    if (!isPromise(decision)) return decision;
    throw this.limiter.answeredLater(decision, CONSUME_SYNC);
  }

  /**
   * Charges every policy, or none, for a cost that is known later: `settle` or `cancel` the reservation then. Until then, and
   * if nobody settles it, the reserved cost stays charged. Requests that wait in a leaky bucket's queue have a `delayMs` here,
   * too: the caller waits.
   *
   * @param policies one or several, each with a name; their `skipIf` needs a request and is not asked
   * @param identity the identity to count; a policy with `by: 'global'` counts all clients together
   * @param options.cost what to reserve of each policy: a whole number from 0 (charges nothing, and asks whether cost 1 fits);
   *   default the policy's own `cost`, else 1
   * @param options.plan as in `consume`
   * @param options.timeZone as in `consume`
   * @throws as `consume` does
   * @example
   * const reservation = await limiter.reserve('tokens', { kind: 'user', value: user.id }, { cost: 2_000 });
   * if (reservation.allowed) await reservation.settle((await answer(prompt)).usage.total);
   */
  async reserve(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity,
    options?: { cost?: number; plan?: string | null; timeZone?: string },
  ): Promise<Reservation> {
    if (options !== undefined) checkOptions(options, 'reserve', ['cost', 'plan', 'timeZone']);
    const bound = this.policies.bind(policies, 'reserve');
    checkConsumable(bound);
    const charges = this.callCharges.make(bound, identityTag(identity), options?.cost, 'reserve', options);
    return this.limiter.reserve(charges);
  }

  /**
   * Charges every policy, or none, and holds the leases of those that are a `concurrency` until `release` is called. Release in
   * `finally`: a lease that is not released is renewed as long as the process runs. Throws as `consume` does.
   *
   * @param policies one or several, each with a name; at least one of them a `concurrency`
   * @param options.cost a whole number from 1: as many leases; default the policy's own `cost`, else 1
   * @param options.plan as in `consume`
   * @example const lease = await limiter.acquire('exports', { kind: 'user', value: 'rider-1' });
   */
  async acquire(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity,
    options?: { cost?: number; plan?: string | null; timeZone?: string },
  ): Promise<Lease> {
    if (options !== undefined) checkOptions(options, 'acquire', ['cost', 'plan', 'timeZone']);
    const bound = this.policies.bind(policies);
    if (!bound.some(isConcurrency)) {
      throw new TypeError(
        `RateLimiter.acquire: ${names(bound)} has no leases, because it is no concurrency: use RateLimiter.consume`,
      );
    }
    if (options?.cost === 0)
      throw new TypeError('RateLimiter.acquire: cost must be a whole number from 1, got 0; use RateLimiter.peek');
    const charges = this.callCharges.make(bound, identityTag(identity), options?.cost, 'take', options);
    const decision = await this.limiter.decide(charges);
    return new Lease(decision, decision.allowed ? this.leases.of(charges, decision) : undefined);
  }

  /**
   * What `consume` with cost 1 would answer, without charging anything: `allowed`, `retryAfterMs` and `delayMs` are those of
   * cost 1, `remaining` and `resetAfterMs` those of the untouched state. Throws as `consume` does.
   *
   * @param options.plan as in `consume`
   */
  async peek(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity,
    options?: { plan?: string | null; timeZone?: string },
  ): Promise<Decision> {
    if (options !== undefined) checkOptions(options, 'peek', ['plan', 'timeZone']);
    const bound = this.policies.bind(policies, 'peek');
    return this.limiter.decide(this.callCharges.ofConsume(bound, identity, { cost: 0, ...options }));
  }

  /**
   * What a request of cost 1 to a route would get, without charging anything: for support tools and dashboards. A policy's
   * `skipIf` needs a request and is not asked.
   *
   * @param controller the class through which the route is reached
   * @param method the name of its handler
   * @param identity the identity to count; policies with `by: 'global'` count all clients together
   * @param options.plan as in `consume`
   * @param options.timeZone as in `consume`; default the one in which this process has counted the client last, else UTC
   * @returns undefined for a route that nothing limits
   * @throws {TypeError} when the class has no such handler, or a function chooses the route's policies by the request
   * @throws {LimiterUnavailableError} when the store fails and `onStoreFailure` is `'closed'`
   * @example const decision = await limiter.peekRoute(RidesController, 'request', { kind: 'user', value: 'rider-1' });
   */
  async peekRoute(
    controller: HandlerClass,
    method: string,
    identity: Identity,
    options?: { plan?: string | null; timeZone?: string },
  ): Promise<Decision | undefined> {
    if (options !== undefined) checkOptions(options, 'peekRoute', ['plan', 'timeZone']);
    const policies = this.routes.policiesOf(controller, method);
    if (policies === undefined) return undefined;
    const tag = identityTag(identity);
    const known = policies.some(hasZoneOfRequest) ? this.timeZones.look(tag).zone : undefined;
    const { plan, timeZone = known } = options ?? {};
    return this.limiter.decide(this.callCharges.make(policies, tag, 1, 'peek', { plan, timeZone }));
  }

  /**
   * Clears the states of an identity under the policies: that of scope `'app'`, and those of every route or controller where a
   * policy of this name stands, under the numbers of each plan and in each time zone, with their blocks and candidates. Throws as
   * `consume` does, or the store's failure.
   *
   * @returns what was cleared, whether anything was counted there or not
   * @example await limiter.reset('login', { kind: 'user', value: 'rider-1' });
   */
  async reset(policies: LimiterPolicy | readonly LimiterPolicy[], identity: Identity): Promise<readonly ResetState[]>;
  /**
   * Clears the states of an identity under a policy's name, wherever a policy of this name stands, or under the policies that a
   * request to a route meets, with those of the module's `middleware`. A name that a policy and a route have is the policy's. A
   * route's policies that count all clients together (`by: 'global'`) are left as they are; name such a policy to clear it.
   *
   * @param who the identity, or its tag such as `'user:rider-1'`
   * @param what a policy's name, `[Controller, 'method']`, a route's name as in `table()`, or `{ policy }` or `{ route }`
   * @throws {RateLimitConfigError} for an unknown name
   * @throws {TypeError} when the class has no such handler
   * @example await limiter.reset({ kind: 'user', value: 'rider-1' }, [RidesController, 'request']);
   */
  async reset(who: Identity | string, what: ResetTarget): Promise<readonly ResetState[]>;
  async reset(
    one: LimiterPolicy | readonly LimiterPolicy[] | Identity,
    other: Identity | ResetTarget,
  ): Promise<readonly ResetState[]> {
    if (isIdentity(one) || (typeof one === 'string' && isResetTarget(other))) {
      const where = 'RateLimiter.reset';
      return resetStates(this.limiter, this.insight.resettable(other as ResetTarget, where), tagOf(one, where));
    }
    const tag = identityTag(other as Identity);
    const named = this.policies.bindAll(one);
    const all = named.flatMap(({ name }) => [
      ...this.routes.boundTo(name),
      ...this.routes.boundTo(candidateName(name)),
    ]);
    return resetStates(this.limiter, [...named, ...all], tag);
  }

  /**
   * Clears the states of an identity under the policies of a route, and under the numbers of each of their plans. A state that
   * other routes share is cleared for them, too.
   *
   * @returns what was cleared; nothing for a route that no policy limits
   * @throws {TypeError} when the class has no such handler, or a function chooses the route's policies by the request
   * @example await limiter.resetRoute(RidesController, 'request', { kind: 'user', value: 'rider-1' });
   */
  async resetRoute(controller: HandlerClass, method: string, identity: Identity): Promise<readonly ResetState[]> {
    return resetStates(this.limiter, this.routes.policiesOf(controller, method) ?? [], identityTag(identity));
  }

  /**
   * Which policies limit which handlers, as plain data: for a page of the operators, a review or a test. Handlers without a
   * limit are in it. What functions choose by the request is not, and the handler says so (`chosen`).
   *
   * @example const gaps = limiter.table().routes.filter(({ limited }) => !limited);
   */
  table(): LimitTable {
    return this.insight.table();
  }

  /**
   * Why an identity is rejected, or is not: its level, plan and override under each policy, who decides, and when the next request
   * passes. Charges and counts nothing. A policy's `skipIf` needs a request and is not asked.
   *
   * @param who the identity, or its tag such as `'user:rider-1'`
   * @param route `[Controller, 'method']`, or a route's name as in `table()`: what a request to it meets, the policies of the module's
   *   `middleware` first. Default: every policy of the application that counts such an identity
   * @param options.plan as in `consume`
   * @param options.timeZone as in `peekRoute`
   * @throws {RateLimitConfigError} for a wrong identity, an unknown route, or a plan or a time zone where no policy asks for any
   * @throws {TypeError} when the class has no such handler, or for another option
   * @example const { isRejected, passesAt } = await limiter.explain({ kind: 'user', value: 'rider-1' }, 'POST /rides');
   */
  async explain(
    who: Identity | string,
    route?: RouteReference,
    options?: { plan?: string | null; timeZone?: string },
  ): Promise<LimitExplanation> {
    if (options !== undefined) checkOptions(options, 'explain', ['plan', 'timeZone']);
    return this.insight.explain(who, route, options ?? {});
  }

  /**
   * What this process has counted so far; `RateLimitMetricsModule` makes metrics of it.
   *
   * @example const { requests, rejected, store } = limiter.stats();
   */
  stats(): RateLimitStats {
    const { memoryOverflows, tokenLeases, overrideStats: overrides } = this.limiter;
    return { ...this.monitor.stats(), waiting: this.waitingRoom.size, memoryOverflows, tokenLeases, overrides };
  }

  private decide(
    method: 'consume' | 'consumeSync',
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity,
    options: CallOptions | undefined,
  ): Decision | Promise<Decision> {
    if (options !== undefined) checkOptions(options, method, ['cost', 'plan', 'timeZone']);
    const bound = this.policies.bind(policies);
    const recent = hasEffect(options) ? undefined : this.callCharges.recentOf(bound, identity);
    const charges = recent?.charges ?? this.callCharges.ofConsume(bound, identity, options);
    if (method === 'consumeSync') this.limiter.expectAnswersAtOnce(charges, CONSUME_SYNC);
    return recent === undefined ? this.limiter.decide(charges) : this.limiter.decideRecent(recent);
  }
}
