import type { Identity } from '../identity/identity.js';
import { identityTag } from '../identity/identity-tag.js';
import type { RateLimitStats } from '../metrics/stats.js';
import type { Monitor } from '../metrics/monitor.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import type { Decision } from '../policy/decision.js';
import type { ChargeMode } from '../stores/charge.js';
import { shown } from '../util/config-error.js';
import { flatten, ownText } from '../util/own-text.js';
import type { Limiter } from './limiter.js';
import type { LimiterPolicies, LimiterPolicy } from './limiter-policies.js';
import type { PolicyCharge } from './policy-charge.js';
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
  ) {}

  /**
   * Charges every policy, or none.
   *
   * @param policies one or several, each with a name; their `skipIf` needs a request and is not asked
   * @param identity the identity to count; a policy with `by: 'global'` counts all clients together
   * @param options.cost a whole number from 0 (a peek); default the policy's own `cost`, else 1
   * @throws {TypeError} when the cost is not such a number, or for another option; nothing is charged
   * @throws {RateLimitConfigError} when a policy is wrong, unknown or has no name
   * @throws {LimiterUnavailableError} when the store fails and `onStoreFailure` is `'closed'`
   */
  consume(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity,
    options?: { cost?: number },
  ): Promise<Decision> {
    // Not an async function: its promise would be one more for every decision.
    try {
      const charges = this.charges(this.policies.bind(policies), identity, costOf(options));
      const decision = this.limiter.decide(charges);
      return decision instanceof Promise ? decision : Promise.resolve(decision);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * What `consume` with cost 1 would answer, without charging anything: `allowed`, `retryAfterMs` and `delayMs` are those of
   * cost 1, `remaining` and `resetAfterMs` those of the untouched state. Throws as `consume` does.
   */
  peek(policies: LimiterPolicy | readonly LimiterPolicy[], identity: Identity): Promise<Decision> {
    return this.consume(policies, identity, { cost: 0 });
  }

  /**
   * What a request of cost 1 to a route would get, without charging anything: for support tools and dashboards. A policy's
   * `skipIf` needs a request and is not asked.
   *
   * @param controller the class through which the route is reached
   * @param method the name of its handler
   * @param identity the identity to count; policies with `by: 'global'` count all clients together
   * @returns undefined for a route that nothing limits
   * @throws {TypeError} when the class has no such handler, or a function chooses the route's policies by the request
   * @throws {LimiterUnavailableError} when the store fails and `onStoreFailure` is `'closed'`
   * @example const decision = await limiter.peekRoute(RidesController, 'request', { kind: 'user', value: 'rider-1' });
   */
  async peekRoute(controller: HandlerClass, method: string, identity: Identity): Promise<Decision | undefined> {
    const policies = this.routes.policiesOf(controller, method);
    if (policies === undefined) return undefined;
    return this.limiter.decide(this.makeCharges(policies, identityTag(identity), 1, 'peek'));
  }

  /**
   * Clears the states of an identity under the policies: that of scope `'app'`, and those of every route or controller where a
   * policy of this name stands. Throws as `consume` does, or the store's failure.
   *
   * @returns what was cleared, whether anything was counted there or not
   * @example await limiter.reset('login', { kind: 'user', value: 'rider-1' });
   */
  async reset(policies: LimiterPolicy | readonly LimiterPolicy[], identity: Identity): Promise<readonly ResetState[]> {
    const tag = identityTag(identity);
    const named = this.policies.bind(policies);
    const all = [...named, ...named.flatMap(({ name }) => [...this.routes.boundTo(name)])];
    return this.resetAll(all, tag);
  }

  /**
   * Clears the states of an identity under the policies of a route. A state that other routes share is cleared for them, too.
   *
   * @returns what was cleared; nothing for a route that no policy limits
   * @throws {TypeError} when the class has no such handler, or a function chooses the route's policies by the request
   * @example await limiter.resetRoute(RidesController, 'request', { kind: 'user', value: 'rider-1' });
   */
  async resetRoute(controller: HandlerClass, method: string, identity: Identity): Promise<readonly ResetState[]> {
    return this.resetAll(this.routes.policiesOf(controller, method) ?? [], identityTag(identity));
  }

  /**
   * What this process has counted so far; `RateLimitMetricsModule` makes metrics of it.
   *
   * @example const { requests, rejected, store } = limiter.stats();
   */
  stats(): RateLimitStats {
    const { memoryOverflows } = this.limiter;
    return { ...this.monitor.stats(), waiting: this.waitingRoom.size, memoryOverflows };
  }

  private async resetAll(policies: readonly BoundPolicy[], tag: string): Promise<readonly ResetState[]> {
    const states = new Map<string, ResetState>();
    const keys: string[] = [];
    for (const policy of policies) {
      const { key, shardKeys = [], block } = this.limiter.charge(policy, tag, 0, 'peek');
      if (states.has(key)) continue;
      states.set(key, { policy: policy.name, scope: policy.boundTo });
      keys.push(key, ...shardKeys);
      if (block !== undefined) keys.push(block.key);
    }
    if (keys.length > 0) await this.limiter.reset(keys);
    return [...states.values()];
  }

  private charges(
    policies: readonly BoundPolicy[],
    identity: Identity,
    cost: number | undefined,
  ): readonly PolicyCharge[] {
    if (cost !== undefined) {
      return this.makeCharges(policies, identityTag(identity), cost, cost === 0 ? 'peek' : 'take');
    }
    const known = this.recent.get(identity?.value);
    if (known !== undefined && known.policies === policies && known.kind === identity.kind) return known.charges;
    const charges = this.makeCharges(policies, identityTag(identity), undefined, 'take');
    const { kind, value } = identity;
    if (kind !== 'key' && kind !== 'api-key' && value.length <= MAX_RECENT_LENGTH) {
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
  ): PolicyCharge[] {
    return policies.map((policy) => this.limiter.charge(policy, tag, cost ?? constantCost(policy), mode));
  }
}

/** A misspelt option would charge cost 1. */
function costOf(options: { readonly cost?: number } | undefined): number | undefined {
  if (options === undefined) return undefined;
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`RateLimiter.consume: options must be an object such as { cost: 2 }, got ${shown(options)}`);
  }
  for (const option in options) {
    if (option === 'cost') continue;
    throw new TypeError(`${shown(option)} is not an option of RateLimiter.consume; the only option is cost`);
  }
  return options.cost;
}

function constantCost({ name, cost }: BoundPolicy): number {
  if (typeof cost === 'number') return cost;
  throw new TypeError(`the cost of policy '${name}' is a function of a request: give { cost } outside of a request`);
}
