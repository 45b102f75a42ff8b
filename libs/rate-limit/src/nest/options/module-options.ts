import { ON_MISSING_IDENTITY, type OnMissingIdentity } from '../../identity/identity.js';
import { isKind } from '../../identity/identity-tag.js';
import { checkKeyPrefix } from '../../policy/key.js';
import type { DecisionEvent } from '../../metrics/decision-event.js';
import { RateLimitConfigError, shown } from '../../util/config-error.js';
import { STORE_FAILURES } from '../../policy/parse-policy.js';
import type { OnStoreFailure, Policy, PolicySource } from '../../policy/policy.js';
import { isRedisClient, type RedisClient, type RedisOptions } from '../../stores/redis/redis-client.js';
import type { RateLimitStore } from '../../stores/store.js';
import type { IdentityResolver } from '../types.js';

/** What `RateLimitModule.forRoot` takes. */
export interface RateLimitModuleOptions {
  /**
   * Where the limits are kept for all processes: a `redis://` or `rediss://` URL or ioredis options, which the module opens
   * and closes (needs the package `ioredis`), or a ready `Redis` or `Cluster` client, which it leaves open: it uses a
   * duplicate that resends nothing. Empty or undefined, with no `store` either, means the in-process store: each process
   * then counts for itself.
   */
  redis?: string | RedisOptions | RedisClient | undefined;
  /** A store of your own, or a `MemoryStore` or `RedisStore` with options; not together with `redis`. */
  store?: RateLimitStore;
  /** Policies by name, for `@RateLimit('name')` and `defaults`. */
  policies?: Readonly<Record<string, Policy>>;
  /** What limits every route that has no policy of its own and is not skipped: names, or policies with a name. */
  defaults?: readonly PolicySource[];
  /**
   * What limits all HTTP traffic before anything else is done with it: names, or policies with a name. What no guard sees is
   * counted, too: requests without a route, bodies that cannot be parsed, CORS preflights, static files. (Not WebSocket upgrades
   * that something takes, of which boot warns, nor what Node's parser refuses, nor, over Fastify, a malformed URL or a parameter that is too long.) Default none.
   *
   * Their scope is `'app'`. They are a step before that of a route: what they took stays taken when the route's policies refuse.
   * A policy that stands there, too, with scope `'app'`, and counts the same identity, charges a request the larger of its two
   * costs: the route charges the difference. `@SkipRateLimit`
   * does not reach them, `skipIf` does. Their functions find no parsed body, no user whom authentication finds later, and a
   * class and a handler without metadata. Of two leaky buckets, one here and one on the route, both are waited for. A refusal
   * comes before CORS: a script of another origin cannot read it.
   *
   * @example { middleware: [{ name: 'address', algorithm: 'token-bucket', capacity: 200, refill: 100, by: 'ip' }] }
   * @throws {RateLimitConfigError} at boot: for a policy without a name, one with another scope, or a platform that is neither
   *   Express nor Fastify
   */
  middleware?: readonly PolicySource[];
  /**
   * Who is asking: the first resolver that finds something. Default: `[ipIdentity()]`, the address alone. Add header
   * identities only where a gateway sets these headers itself: a client that can send them has a fresh limit for each value.
   * Boot logs the headers that are trusted.
   *
   * @example identity: [apiKeyIdentity(), userIdentity(), ipIdentity()]
   */
  identity?: readonly IdentityResolver[];
  /**
   * What policies do, unless they say it themselves, with a request that has no identity of the kind they count (`by: 'user'`
   * before authentication ran, say), or whose resolver or `by` function throws or rejects: `'ip'` (default) counts its address,
   * `'refuse'` answers 401, `'throw'` is a logged 500. Nothing is charged by the latter two.
   */
  onMissingIdentity?: OnMissingIdentity;
  /** Whether responses carry `X-RateLimit-*`; default true. `Retry-After` stays. */
  headers?: boolean;
  /** How keys begin: 1 to 32 characters, default `'rl'`. */
  keyPrefix?: string;
  /** Whose time decides: `'redis'` (default), or `'app'`, the processes' wall clocks. */
  clock?: 'redis' | 'app';
  /**
   * How far the clocks of processes may be apart with `clock: 'app'`: whole milliseconds from 0 to 10,000, default 1,000. Up to
   * it no state is taken for one of a clock that stepped back, and the limits hold but for what the skew lets through, see
   * "Clocks" in the README. Each process compares its clock with Redis's, and warns when they differ by more than half of it.
   *
   * @throws {RateLimitConfigError} at boot, when it is not such a number, or without `clock: 'app'`
   * @example RateLimitModule.forRoot({ redis, clock: 'app', maxSkewMs: 200 })
   */
  maxSkewMs?: number;
  /**
   * How long a refusal by Redis is remembered in the process, at most, in milliseconds: 0 (not at all) to 10,000, default
   * 1,000. Until a refused policy's `retryAfter` the answer to the same question is certain, and Redis is not asked again.
   */
  denialCacheMs?: number;
  /**
   * How long a decision may take before the request goes by `onStoreFailure`: whole milliseconds from 1 to 10,000, default
   * 50. A stall of this process's event loop does not count: answers that lie ready are read first.
   */
  deadlineMs?: number;
  /**
   * What requests get while the store cannot decide, unless their policy says otherwise: `'local'` (default), `'open'` or
   * `'closed'`; see `OnStoreFailure`.
   */
  onStoreFailure?: OnStoreFailure;
  /**
   * Among how many processes the limits are divided while each decides for itself (`'local'`): a whole number from 1 to
   * 10,000, default 1, or a function that is asked at each such decision. With the default every process admits the whole
   * limit, so that 12 of them admit 12 times as much for as long as the store is away. A process's share is rounded down,
   * but never below 1 or a policy's constant cost. When the function's value changes, what the process has taken counts
   * under the new share. If the function fails, its last valid value is kept.
   *
   * @example localShare: 12
   * @example localShare: () => discovery.podCount
   */
  localShare?: number | (() => number);
  /**
   * Bytes that the clients' states may take while the process decides for itself (`'local'`): a whole number from 1, default
   * 64,000,000, which is enough for some 200,000 clients. Beyond it the process decides as a full `MemoryStore` does. Without
   * Redis, bound the store itself: `store: new MemoryStore({ maxBytes: 64_000_000 })`.
   *
   * @example fallbackMaxBytes: 16_000_000
   * @throws {RateLimitConfigError} at boot, when it is not such a number
   */
  fallbackMaxBytes?: number;
  /** Called when the store stops deciding, and when it decides again. What it throws is logged. */
  onStoreStateChange?: (change: StoreStateChange) => void;
  /**
   * Called with every decision of the guard, of `middleware` and of `RateLimiter.consume`, at once and in the context of the
   * request (`AsyncLocalStorage`), before it goes on: for tracing, audit, meters. What only looks (`peek`, `consume` with `{ cost: 0 }`) is not reported. What it throws or rejects with is
   * logged, once a second at most, and changes nothing for the request; it must not ask the limiter itself.
   *
   * @example onDecision: ({ decision, source, route, durationMs }) => meter.record(durationMs, { source, route })
   */
  onDecision?: (event: DecisionEvent) => void;
  /**
   * The share of the decisions that `onDecision` is called with, picked at random: above 0, to 1 (default, all of them).
   * @example decisionSampling: 0.01
   * @throws {RateLimitConfigError} at boot, when it is not such a number
   */
  decisionSampling?: number;
  /**
   * Requests that may wait for a leaky bucket's departure slots in this process at a time: a whole number from 1, default
   * 10,000. A request takes its place before the store is asked, and gives it up when it goes on, is refused, or its client
   * hangs up; without a place it gets a 503 with `Retry-After: 1`, and no policy is charged. What waits costs memory (a
   * timer and an open response), which the buckets' capacities alone do not bound: every client has its own.
   *
   * A client that hangs up is forgotten at once and its handler does not run. Its slot is free again if it was the last one
   * handed out; else it stays taken, and those behind it leave when they would have left anyway. What other policies charged
   * the request stays charged.
   * @example RateLimitModule.forRoot({ maxWaiting: 2_000 })
   * @throws {RateLimitConfigError} at boot, when it is not such a number
   */
  maxWaiting?: number;
  /**
   * And of one client, over all routes: a whole number from 1, default 100; policies that count everybody together
   * (`by: 'global'`) are exempt. A bucket's capacity bounds those that wait, but not those whose decision is still to come:
   * a client that pipelines thousands of requests would take all places until the store has answered. Give it the largest
   * `capacity` of your leaky buckets per client, and some more for requests that are refused: beyond it they get a 503
   * instead of their policy's 429.
   * @throws {RateLimitConfigError} at boot, when it is not such a number
   */
  maxWaitingPerClient?: number;
}

/** The store stopped deciding, or decides again. */
export interface StoreStateChange {
  /** Whether it decides now. */
  readonly available: boolean;
  /** Why it does not, or did not until now. */
  readonly reason: string;
  /** Milliseconds that it did not decide; 0 when it has just stopped. */
  readonly outageMs: number;
  /** Of a Redis Cluster: the one node that it is about, `'10.0.0.7:6379'`. Without it, it is about all of the store. */
  readonly node?: string;
}

/** The options of `forRootAsync` that cannot come from a factory. */
export interface RateLimitModuleExtras {
  /** Whether the guard is registered for all routes (`APP_GUARD`); default true. */
  guard?: boolean;
}

const OPTIONS = [
  'redis',
  'store',
  'policies',
  'defaults',
  'middleware',
  'identity',
  'onMissingIdentity',
  'headers',
  'keyPrefix',
  'clock',
  'maxSkewMs',
  'denialCacheMs',
  'deadlineMs',
  'onStoreFailure',
  'localShare',
  'fallbackMaxBytes',
  'onStoreStateChange',
  'onDecision',
  'decisionSampling',
  'maxWaiting',
  'maxWaitingPerClient',
] as const;

const PLACE = 'RateLimitModule';
const MAX_REMEMBERED_MS = 10_000;
const MAX_DEADLINE_MS = 10_000;
const MAX_SKEW_MS = 10_000;
/** More processes than a limit is divided among. */
const MAX_PROCESSES = 10_000;

/** The options with every default filled in, and checked. */
export type CheckedOptions = RateLimitModuleOptions &
  Required<
    Pick<
      RateLimitModuleOptions,
      | 'defaults'
      | 'middleware'
      | 'headers'
      | 'keyPrefix'
      | 'clock'
      | 'maxSkewMs'
      | 'denialCacheMs'
      | 'onMissingIdentity'
      | 'deadlineMs'
      | 'onStoreFailure'
      | 'localShare'
      | 'fallbackMaxBytes'
      | 'policies'
      | 'maxWaiting'
      | 'maxWaitingPerClient'
    >
  >;

/** @throws {RateLimitConfigError} naming the option, what was given and what would be right */
export function checkOptions(options: RateLimitModuleOptions): CheckedOptions {
  if (typeof options !== 'object' || options === null) {
    throw new RateLimitConfigError(PLACE, `options must be an object, got ${shown(options)}`);
  }
  const given = options as Readonly<Record<string, unknown>>;
  const fail = (option: string, wanted: string): never => {
    throw new RateLimitConfigError(PLACE, `${option} must be ${wanted}, got ${shown(given[option])}`);
  };
  if ('guard' in given) {
    // forRoot has taken it out by now: a provider cannot be registered by what a factory returns.
    throw new RateLimitConfigError(
      PLACE,
      `guard is static: it stands beside useFactory or useClass, not in what they return`,
    );
  }
  for (const option of Object.keys(given)) {
    if (!(OPTIONS as readonly string[]).includes(option)) {
      throw new RateLimitConfigError(PLACE, `${shown(option)} is not an option; the options are ${OPTIONS.join(', ')}`);
    }
  }
  const oneOf = <T>(option: string, values: readonly T[]): T => {
    const value = given[option] === undefined ? values[0] : given[option];
    return values.includes(value as T) ? (value as T) : fail(option, `one of ${values.map(shown).join(', ')}`);
  };
  const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
  const hasMethods = (value: unknown, methods: readonly string[]): boolean =>
    isObject(value) && methods.every((m) => typeof (value as Record<string, unknown>)[m] === 'function');

  const { redis, store, policies = {}, defaults = [], middleware = [], identity, keyPrefix = 'rl' } = options;
  const { denialCacheMs = 1000 } = options;
  if (redis !== undefined && redis !== '' && store !== undefined) {
    throw new RateLimitConfigError(
      PLACE,
      'redis and store are both given: a store of your own brings its own connection',
    );
  }
  if (redis !== undefined && redis !== '' && !isRedisUrl(redis) && !isRedisOptionsOrClient(redis)) {
    // A URL can hold a password: what was given is not repeated.
    throw new RateLimitConfigError(
      PLACE,
      'redis must be a redis:// or rediss:// URL, ioredis options, or a client with evalsha, eval and del',
    );
  }
  if (store !== undefined && !hasMethods(store, ['consume', 'reset'])) {
    fail('store', 'a RateLimitStore (an object with consume and reset)');
  }
  if (!isObject(policies)) fail('policies', 'an object of policies by name');
  for (const [option, sources] of Object.entries({ defaults, middleware })) {
    if (!Array.isArray(sources)) fail(option, 'an array of names and named policies');
    for (const policy of sources) {
      if (isObject(policy) && !('choose' in (policy as object)) && (policy as Policy).name === undefined)
        fail(option, 'names, or policies with a name');
    }
  }
  if (identity !== undefined) {
    const valid =
      Array.isArray(identity) &&
      identity.every((r) => hasMethods(r, ['resolve']) && isKind((r as IdentityResolver).kind));
    if (!valid)
      fail(
        'identity',
        'an array of resolvers such as userIdentity() or { kind, resolve }, each kind 1 to 16 of a-z, 0-9 and -',
      );
  }
  if (!(Number.isInteger(denialCacheMs) && denialCacheMs >= 0 && denialCacheMs <= MAX_REMEMBERED_MS)) {
    fail('denialCacheMs', `whole milliseconds from 0 to ${MAX_REMEMBERED_MS}`);
  }
  const { clock = 'redis', maxSkewMs = 1000 } = options;
  if (!(Number.isInteger(maxSkewMs) && maxSkewMs >= 0 && maxSkewMs <= MAX_SKEW_MS)) {
    fail('maxSkewMs', `whole milliseconds from 0 to ${MAX_SKEW_MS}`);
  }
  if (options.maxSkewMs !== undefined && clock === 'redis') {
    throw new RateLimitConfigError(
      PLACE,
      "maxSkewMs has no effect on Redis's clock: give clock: 'app' with it, or leave it out",
    );
  }
  const { deadlineMs = 50, localShare = 1, onStoreStateChange } = options;
  if (!(Number.isInteger(deadlineMs) && deadlineMs >= 1 && deadlineMs <= MAX_DEADLINE_MS)) {
    fail('deadlineMs', `whole milliseconds from 1 to ${MAX_DEADLINE_MS}`);
  }
  if (typeof localShare !== 'function' && !isProcessCount(localShare)) {
    fail('localShare', `a whole number of processes from 1 to ${MAX_PROCESSES}, or a function`);
  }
  if (onStoreStateChange !== undefined && typeof onStoreStateChange !== 'function') {
    fail('onStoreStateChange', 'a function');
  }
  const { onDecision, decisionSampling = 1 } = options;
  if (onDecision !== undefined && typeof onDecision !== 'function') fail('onDecision', 'a function');
  if (!(typeof decisionSampling === 'number' && decisionSampling > 0 && decisionSampling <= 1)) {
    fail('decisionSampling', 'a share of the decisions, above 0, to 1');
  }
  const wholeFrom1 = (option: string, otherwise: number): number => {
    const value = given[option] === undefined ? otherwise : given[option];
    return Number.isSafeInteger(value) && (value as number) >= 1
      ? (value as number)
      : fail(option, 'a whole number from 1');
  };
  return {
    ...options,
    denialCacheMs,
    maxSkewMs,
    deadlineMs,
    localShare,
    fallbackMaxBytes: wholeFrom1('fallbackMaxBytes', 64_000_000),
    maxWaiting: wholeFrom1('maxWaiting', 10_000),
    maxWaitingPerClient: wholeFrom1('maxWaitingPerClient', 100),
    policies,
    defaults,
    middleware,
    keyPrefix: checkKeyPrefix(keyPrefix, PLACE),
    headers: oneOf('headers', [true, false]),
    clock: oneOf('clock', ['redis', 'app'] as const),
    onMissingIdentity: oneOf('onMissingIdentity', ON_MISSING_IDENTITY),
    onStoreFailure: oneOf('onStoreFailure', STORE_FAILURES),
  };
}

/** Whether a limit can be divided among so many processes. */
export function isProcessCount(count: unknown): count is number {
  return Number.isInteger(count) && (count as number) >= 1 && (count as number) <= MAX_PROCESSES;
}

function isRedisUrl(redis: unknown): boolean {
  if (typeof redis !== 'string') return false;
  return /^rediss?:\/\//.test(redis) && URL.canParse(redis);
}

function isRedisOptionsOrClient(redis: unknown): boolean {
  if (typeof redis !== 'object' || redis === null) return false;
  return isRedisClient(redis) || [Object.prototype, null].includes(Object.getPrototypeOf(redis) as object | null);
}
