import type { Identity } from '../identity/identity.js';
import { identityTag, valueText } from '../identity/identity-tag.js';
import type { RateLimitStats } from '../metrics/stats.js';
import type { Monitor } from '../metrics/monitor.js';
import { type BoundPolicy, inTimeZone, keyTailsInAllZones } from '../policy/bound-policy.js';
import { candidateName } from '../policy/candidate.js';
import type { Decision } from '../policy/decision.js';
import { keyOf } from '../policy/key.js';
import type { ChargeMode } from '../stores/charge.js';
import { flatten, ownText } from '../util/own-text.js';
import {
  checkConsumable,
  checkOptions,
  checkPlan,
  checkTimeZone,
  constantCost,
  hasZoneOfRequest,
  isConcurrency,
  names,
} from './call-arguments.js';
import type { LimitExplanation } from './explain.js';
import { type Insight, isResetTarget, type ResetTarget, type RouteReference } from './insight.js';
import { isIdentity, tagOf } from './insight-arguments.js';
import { Lease } from './lease.js';
import type { Leases } from './leases.js';
import type { Limiter } from './limiter.js';
import type { LimiterPolicies, LimiterPolicy } from './limiter-policies.js';
import type { PolicyCharge } from './policy-charge.js';
import { type Plans, underPlan } from './plans.js';
import type { Reservation } from './reservation.js';
import type { LimitTable } from './table.js';
import type { TimeZones } from './time-zones.js';
import type { WaitingRoom } from './waiting-room.js';

/** Charges that are kept, ready made: building and hashing their keys costs more than the rest of a decision. */
const MAX_RECENT = 20_000;
/** Longer identities are not kept. API keys are not kept either: this process should not remember secrets. */
const MAX_RECENT_LENGTH = 64;

interface RecentClient {
  readonly kind: string;
  readonly policies: readonly BoundPolicy[];
  readonly charges: readonly PolicyCharge[];
}

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

/** What the caller knows of a call. */
interface CallOptions {
  readonly cost?: number | undefined;
  readonly plan?: string | null | undefined;
  readonly timeZone?: string | undefined;
}

/** A state that `reset` has cleared. */
export interface ResetState {
  /** The policy's name. */
  readonly policy: string;
  /** What the state belongs to: `'app'`, a route such as `'POST /api/rides/request'`, or a controller. */
  readonly scope: string;
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
  /** By the value of their identity. */
  private recent = new Map<string, RecentClient>();
  private recentCharges = 0;

  /** @internal The module makes it; inject it. */
  constructor(
    private readonly limiter: Limiter,
    private readonly policies: LimiterPolicies,
    private readonly routes: RoutePolicySource,
    private readonly monitor: Monitor,
    private readonly waitingRoom: Pick<WaitingRoom, 'size'>,
    private readonly plans: Pick<Plans<never>, 'lastKnown'> | undefined,
    private readonly leases: Leases,
    private readonly insight: Insight,
    private readonly timeZones: Pick<TimeZones<never>, 'look'>,
  ) {}

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
      if (options !== undefined) checkOptions(options, 'consume', ['cost', 'plan', 'timeZone']);
      const charges = this.charges(this.policies.bind(policies), identity, options);
      const decision = this.limiter.decide(charges);
      return decision instanceof Promise ? decision : Promise.resolve(decision);
    } catch (error) {
      return Promise.reject(error);
    }
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
    const charges = this.makeCharges(bound, identityTag(identity), options?.cost, 'reserve', options);
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
    const charges = this.makeCharges(bound, identityTag(identity), options?.cost, 'take', options);
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
    return this.limiter.decide(this.charges(this.policies.bind(policies, 'peek'), identity, { cost: 0, ...options }));
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
    return this.limiter.decide(this.makeCharges(policies, tag, 1, 'peek', { plan, timeZone }));
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
      return this.resetAll(this.insight.resettable(other as ResetTarget, where), tagOf(one, where));
    }
    const tag = identityTag(other as Identity);
    const named = this.policies.bindAll(one);
    const all = named.flatMap(({ name }) => [
      ...this.routes.boundTo(name),
      ...this.routes.boundTo(candidateName(name)),
    ]);
    return this.resetAll([...named, ...all], tag);
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
    return this.resetAll(this.routes.policiesOf(controller, method) ?? [], identityTag(identity));
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

  private async resetAll(policies: readonly BoundPolicy[], tag: string): Promise<readonly ResetState[]> {
    const states = new Map<string, ResetState>();
    const keys = new Set<string>();
    for (const policy of policies) {
      const { key } = this.limiter.charge(policy, tag, 0, 'peek');
      if (states.has(key)) continue;
      states.set(key, { policy: policy.name, scope: policy.boundTo });
      for (const numbers of [policy, ...(policy.plans?.values() ?? [])]) {
        const charge = this.limiter.charge(numbers, tag, 0, 'peek');
        for (const { key: its, shardKeys = [] } of [charge, this.limiter.overriddenCharge(numbers, tag) ?? charge]) {
          for (const one of [its, ...shardKeys]) keys.add(one); // a window's key has no limit
        }
        if (charge.block !== undefined) keys.add(charge.block.key);
        for (const tail of keyTailsInAllZones(numbers)) keys.add(keyOf(numbers.keyPrefix, tag, tail));
      }
    }
    if (keys.size > 0) await this.limiter.reset([...keys]);
    return [...states.values()];
  }

  private charges(
    policies: readonly BoundPolicy[],
    identity: Identity,
    options: CallOptions | undefined,
  ): readonly PolicyCharge[] {
    if (options?.cost !== undefined || options?.plan !== undefined || options?.timeZone !== undefined) {
      const { cost } = options;
      if (cost !== 0) checkConsumable(policies);
      return this.makeCharges(policies, identityTag(identity), cost, cost === 0 ? 'peek' : 'take', options);
    }
    const value = valueText(identity?.value);
    const known = value === undefined ? undefined : this.recent.get(value);
    if (known !== undefined && known.policies === policies && known.kind === identity.kind) return known.charges;
    checkConsumable(policies);
    const charges = this.makeCharges(policies, identityTag(identity), undefined, 'take');
    const { kind } = identity;
    if (policies.some(({ plans }) => plans !== undefined)) return charges; // a client's plan changes
    if (value !== undefined && kind !== 'key' && kind !== 'api-key' && value.length <= MAX_RECENT_LENGTH) {
      if (this.recentCharges >= MAX_RECENT) [this.recent, this.recentCharges] = [new Map(), 0]; // they are made anew
      this.recentCharges += charges.length - (this.recent.get(value)?.charges.length ?? 0);
      for (const charge of charges) {
        flatten(charge.key);
        flatten(charge.identity);
      }
      this.recent.set(ownText(value), { kind, policies, charges });
    }
    return charges;
  }

  private makeCharges(
    policies: readonly BoundPolicy[],
    tag: string,
    cost: number | undefined,
    mode: ChargeMode,
    { plan, timeZone }: CallOptions = {},
  ): PolicyCharge[] {
    if (plan !== undefined) checkPlan(plan, policies);
    const zone = timeZone === undefined ? undefined : checkTimeZone(timeZone, policies);
    return policies.map((policy) => {
      const own = cost ?? constantCost(policy);
      const planned = policy.plans === undefined ? policy : this.planned(policy, tag, plan);
      return this.limiter.charge(planned.timeZone === undefined ? planned : zoned(planned, zone), tag, own, mode);
    });
  }

  private planned(policy: BoundPolicy, tag: string, plan: string | null | undefined): BoundPolicy {
    if (plan !== undefined) return underPlan(policy, plan ?? undefined);
    if (this.plans !== undefined) return underPlan(policy, this.plans.lastKnown(tag));
    throw new TypeError(
      `policy '${policy.name}' has plans, and nothing says which plan the client has: give { plan: 'pro' }, { plan: null } for ` +
        `none, or RateLimitModule a plan`,
    );
  }
}

/** @throws {TypeError} when the call gives no time zone */
function zoned(policy: BoundPolicy, zone: string | undefined): BoundPolicy {
  if (zone !== undefined) return inTimeZone(policy, zone);
  throw new TypeError(
    `the time zone of policy '${policy.name}' is a function of a request: give { timeZone: 'Europe/Paris' } outside of a request`,
  );
}
