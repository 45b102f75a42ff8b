import { Logger } from '@nestjs/common';
import { type Decision, decisionOf } from '../policy/decision.js';
import { RateLimitUnavailableException } from '../nest/exceptions.js';
import type { Asker, Monitor } from '../metrics/monitor.js';
import type { RateLimitStats } from '../metrics/stats.js';
import type { WaitingRoom } from './waiting-room.js';
import { Fallback } from './fallback.js';
import type { Identity } from '../identity/identity.js';
import { identityTag } from '../identity/identity-tag.js';
import type { CheckedOptions } from '../nest/options/module-options.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import { globalTag, keyOf, keyTail, shardKey } from '../policy/key.js';
import type { NamedPolicies } from '../policy/named-policies.js';
import type { ParsedPolicy } from '../policy/parse-policy.js';
import type { Policy } from '../policy/policy.js';
import { type BoundPolicy, checkTogether } from '../nest/route-policies.js';
import type { Charge, ChargeReceipt, Verdict } from '../stores/store.js';
import type { StoreGateway } from './store-gateway.js';
import { RedisUnavailableError } from '../stores/redis/redis-failure.js';
import { isPromise } from '../util/is-promise.js';
import { flatten, ownText } from '../util/own-text.js';

const PLACE = 'RateLimiter';

/** A policy with a name, or the name of one of the module's policies. */
export type LimiterPolicy = Policy | string;

/** Charges of clients that are kept, ready made: their keys cost more to build and to hash than the rest of a decision. */
const MAX_RECENT = 20_000;
/** Longer values are not kept, and API keys are not, either: this process should not remember what is secret. */
const MAX_RECENT_LENGTH = 64;

interface RecentClient {
  readonly kind: string;
  readonly policies: readonly BoundPolicy[];
  readonly charges: readonly Charge[];
}

/**
 * Decides without HTTP: for queue consumers, jobs, gateways. Policies must be named here, and count across the application
 * (scope `'app'`): a route whose policy has that scope and name shares their state.
 *
 * @example
 * ```ts
 * const decision = await limiter.consume('emails', { kind: 'user', value: user.id }, { cost: recipients.length });
 * if (!decision.allowed) await retryIn(decision.retryAfterMs);
 * ```
 */
export class RateLimiter {
  private readonly logger = new Logger('RateLimit');
  private readonly bound = new WeakMap<ParsedPolicy, BoundPolicy>();
  /** The module's policies, and those asked together: as many as the code names. */
  private readonly byName = new Map<string, readonly BoundPolicy[]>();
  private readonly fallback: Fallback;
  /** Departure slots of requests that do not go on, until the end of this turn of the event loop. */
  private readonly left: ChargeReceipt[] = [];
  /** By the value of their identity. */
  private recent = new Map<string, RecentClient>();
  private recentCharges = 0;

  constructor(
    private readonly options: CheckedOptions,
    private readonly gateway: StoreGateway,
    private readonly policies: NamedPolicies,
    private readonly monitor: Monitor,
    private readonly waitingRoom: Pick<WaitingRoom, 'size'>,
  ) {
    this.fallback = new Fallback(options);
  }

  /**
   * Takes `cost` from every policy, or from none.
   *
   * @param policies one or several, each with a name
   * @param identity whom it counts; a policy with `by: 'global'` counts everybody together all the same
   * @param options.cost a whole number from 0 (only looks); default the policy's own `cost`, else 1
   * @throws {TypeError} when the cost is not such a number, or there is another option; nothing is charged
   * @throws {RateLimitConfigError} when a policy is wrong, unknown or has no name
   * @throws {RateLimitUnavailableException} when the store fails and `onStoreFailure` is `'closed'`
   */
  consume(
    policies: LimiterPolicy | readonly LimiterPolicy[],
    identity: Identity,
    options?: { cost?: number },
  ): Promise<Decision> {
    // Not an async function: its promise would be one more for every decision.
    try {
      const bound = this.bind(policies);
      const cost = costOf(options);
      const decision = this.decide(bound, this.charges(bound, identity, cost), cost === 0 ? 'peek' : undefined);
      return decision instanceof Promise ? decision : Promise.resolve(decision);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * What `consume` with cost 1 would be told, without charging anything: `allowed`, `retryAfterMs` and `delayMs` are those of
   * cost 1, `remaining` and `resetAfterMs` those of the untouched state. Throws as `consume` does.
   */
  peek(policies: LimiterPolicy | readonly LimiterPolicy[], identity: Identity): Promise<Decision> {
    return this.consume(policies, identity, { cost: 0 });
  }

  /** Forgets what `identity` has taken from the policies. Throws as `consume` does, or what the store's failure was. */
  async reset(policies: LimiterPolicy | readonly LimiterPolicy[], identity: Identity): Promise<void> {
    const tag = identityTag(identity);
    const keys = this.bind(policies).flatMap((policy) => {
      const { key } = this.charge(policy, tag, 0);
      const shards = policy.shards === 1 ? 0 : policy.shards;
      return [key, ...Array.from({ length: shards }, (_, i) => shardKey(key, i, shards))];
    });
    this.fallback.reset(keys);
    await this.gateway.reset(keys);
  }

  /**
   * What was counted in this process so far, for code that watches it; `RateLimitMetricsModule` makes metrics of it.
   *
   * @example const { requests, rejected, store } = limiter.stats();
   */
  stats(): RateLimitStats {
    const memoryOverflows = this.gateway.memoryOverflows + this.fallback.memoryOverflows;
    return { ...this.monitor.stats(), waiting: this.waitingRoom.size, memoryOverflows };
  }

  /** @internal One policy's charge for an identity's tag. */
  charge(policy: BoundPolicy, tag: string, cost: number): Charge {
    if (!Number.isSafeInteger(cost) || cost < 0) {
      throw new TypeError(`the cost of policy '${policy.name}' must be a whole number from 0, got ${shown(cost)}`);
    }
    const { by, name, algorithm, keyTail: tail, shards } = policy;
    const key = keyOf(this.options.keyPrefix, by === 'global' ? globalTag(name) : tag, tail);
    return {
      key,
      algorithm,
      cost,
      mode: 'take',
      policyKey: tail,
      global: by === 'global',
      shardKeys: shards > 1 ? Array.from({ length: shards }, (_, i) => shardKey(key, i, shards)) : undefined,
    };
  }

  /** @internal Asks the store; what its failure means is settled here and nowhere else. Throws or rejects as `consume` does. */
  decide(policies: readonly BoundPolicy[], charges: readonly Charge[], asker?: Asker): Decision | Promise<Decision> {
    const { monitor } = this;
    const since = monitor.begin();
    const refused = this.gateway.remembered(charges);
    if (refused !== undefined) {
      return monitor.decided(policies, decisionOf(policies, refused), 'denial-cache', asker, since);
    }
    let answer: Verdict | Promise<Verdict>;
    try {
      answer = this.gateway.consume(charges);
    } catch (error) {
      if (!(error instanceof RedisUnavailableError)) monitor.storeFailed(asker, since); // else nobody was asked
      return this.undecided(policies, charges, error, asker, since);
    }
    if (!isPromise(answer)) return monitor.decided(policies, decisionOf(policies, answer), 'store', asker, since);
    return answer.then(
      (verdict) => monitor.decided(policies, decisionOf(policies, verdict), 'store', asker, since),
      (error: unknown) => {
        monitor.storeFailed(asker, since);
        return this.undecided(policies, charges, error, asker, since);
      },
    );
  }

  /**
   * @internal An allowed request does not go on: its departure slots are free again if nobody stands behind it. What else it
   * was charged stays, so that to ask and hang up is no way to ask for nothing.
   */
  leaveQueue(charges: readonly Charge[], { decidedBy, decidedAtMs, policies }: Decision): void {
    const i = charges.findIndex(({ algorithm }) => algorithm.name === 'leaky-bucket');
    if (i < 0 || decidedBy !== 'store') return;
    // Whole microseconds of today are whole again after a division by 1000.
    const at = Math.round(decidedAtMs * 1000);
    if (this.left.length === 0) setImmediate(() => this.giveBackSlots());
    this.left.push({ ...charges[i]!, at, resetAt: at + Math.round(policies[i]!.resetAfterMs * 1000) });
  }

  /** Those who left together, the last of the queue first: then nobody stands behind the next one, either. */
  private giveBackSlots(): void {
    this.gateway.refund(this.left.splice(0).toSorted((one, other) => other.resetAt - one.resetAt));
  }

  private undecided(
    policies: readonly BoundPolicy[],
    charges: readonly Charge[],
    error: unknown,
    asker: Asker,
    since: number,
  ): Decision {
    const cause = this.gateway.failure(error);
    let decision: Decision;
    try {
      decision = this.fallback.decide(policies, charges, cause);
    } catch (refusal) {
      if (refusal instanceof RateLimitUnavailableException) {
        this.monitor.closed(policies, refusal.retryAfter * 1000, asker, since);
      }
      throw refusal;
    }
    return this.monitor.decided(policies, decision, decision.decidedBy, asker, since);
  }

  private charges(policies: readonly BoundPolicy[], identity: Identity, cost: number | undefined): readonly Charge[] {
    if (cost !== undefined) return this.makeCharges(policies, identityTag(identity), cost);
    const known = this.recent.get(identity?.value);
    if (known !== undefined && known.policies === policies && known.kind === identity.kind) return known.charges;
    const charges = this.makeCharges(policies, identityTag(identity), undefined);
    const { kind, value } = identity;
    if (kind !== 'key' && kind !== 'api-key' && value.length <= MAX_RECENT_LENGTH) {
      if (this.recentCharges >= MAX_RECENT) [this.recent, this.recentCharges] = [new Map(), 0]; // they are made anew
      this.recentCharges += charges.length - (this.recent.get(value)?.charges.length ?? 0);
      for (const charge of charges) flatten(charge.key);
      this.recent.set(ownText(value), { kind, policies, charges });
    }
    return charges;
  }

  private makeCharges(policies: readonly BoundPolicy[], tag: string, cost: number | undefined): Charge[] {
    return policies.map((policy) => this.charge(policy, tag, cost ?? constantCost(policy)));
  }

  private bind(policies: LimiterPolicy | readonly LimiterPolicy[]): readonly BoundPolicy[] {
    const names = namesOf(policies);
    if (names === undefined) return this.parse(policies);
    let bound = this.byName.get(names);
    if (bound === undefined) this.byName.set(names, (bound = this.parse(policies)));
    return bound;
  }

  private parse(policies: LimiterPolicy | readonly LimiterPolicy[]): BoundPolicy[] {
    const list = Array.isArray(policies) ? (policies as readonly LimiterPolicy[]) : [policies as LimiterPolicy];
    if (list.length === 0) throw new RateLimitConfigError(PLACE, 'takes at least one policy or name, got none');
    const bound = list.map((policy) => {
      const parsed = this.policies.parse(policy, PLACE);
      if (!parsed.named) throw new RateLimitConfigError(PLACE, 'a policy outside a route needs a name');
      let one = this.bound.get(parsed);
      if (one === undefined) {
        one = { ...parsed, keyTail: keyTail(this.options.keyPrefix, 'app', parsed, PLACE) };
        const conflict = this.policies.meanings.meet('app', parsed, PLACE);
        if (conflict !== undefined) this.logger.warn(conflict);
        this.bound.set(parsed, one);
      }
      return one;
    });
    checkTogether(bound, PLACE);
    return bound;
  }
}

/** Names as one text (no name has a line break), or undefined when a policy is not given by its name. */
function namesOf(policies: LimiterPolicy | readonly LimiterPolicy[]): string | undefined {
  if (typeof policies === 'string') return policies;
  return Array.isArray(policies) && policies.every((policy) => typeof policy === 'string')
    ? policies.join('\n')
    : undefined;
}

/** A misspelt cost would be a request of cost 1. */
function costOf(options: { readonly cost?: number } | undefined): number | undefined {
  if (options === undefined) return undefined;
  if (typeof options !== 'object' || options === null) {
    throw new TypeError(`RateLimiter.consume: options must be an object such as { cost: 2 }, got ${shown(options)}`);
  }
  for (const option in options) {
    if (option === 'cost') continue;
    throw new TypeError(`${shown(option)} is not an option of RateLimiter.consume; the only one is cost`);
  }
  return options.cost;
}

function constantCost({ name, cost }: ParsedPolicy): number {
  if (typeof cost === 'number') return cost;
  throw new TypeError(`the cost of policy '${name}' is a function of a request: give { cost } outside of one`);
}
