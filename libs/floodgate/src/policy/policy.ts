import type { CalendarWindow } from '../algorithms/fixed-window/calendar.js';
import type { Duration } from '../util/duration.js';
import type { Rate } from '../algorithms/core/rate.js';
import type { IdentityBy, OnMissingIdentity } from '../identity/identity.js';
import type { RequestFunction } from '../identity/request-function.js';
import type { Outcome } from './outcome.js';
import type { PrefetchOptions } from './prefetch.js';
import type { PriorityFunction } from './priorities.js';

// `Context` is the request's context, an `ExecutionContext` under Nest. Without it a policy's functions cannot be called:
// what decides needs none of them.

/**
 * The requests that share a policy's state:
 * - `'route'` (default on methods and in `defaults`): those of one handler
 * - `'controller'` (default on classes): those of all handlers of the class
 * - `'app'`: those of all routes that use the policy's name
 */
export type PolicyScope = 'route' | 'controller' | 'app';

/**
 * What requests get while the store cannot decide:
 * - `'local'`: a decision by this process, with its share of the limit (`localShare`); each process counts for itself
 * - `'open'`: they pass, uncounted
 * - `'closed'`: 503 with `Retry-After`
 */
export type OnStoreFailure = 'local' | 'open' | 'closed';

/**
 * What the numbers of a policy count, in the words of the registry of draft-ietf-httpapi-ratelimit-headers-11, section 10.3:
 * requests, bytes of content, or requests that run at once.
 */
export type QuotaUnit = 'requests' | 'content-bytes' | 'concurrent-requests';

/**
 * Whether a policy rejects requests:
 * - `'enforce'` (default)
 * - `'shadow'`: it is decided and counted in the same step, but rejects, delays and tells clients nothing
 */
export type PolicyMode = 'enforce' | 'shadow';

/**
 * Finds the time zone of a request: a name of the IANA database. If it throws, rejects, takes longer than `deadline` or returns
 * anything else, the request counts in UTC, with a warning. Use what a client cannot change with each request, such as their
 * account: a client has a quota in each zone.
 *
 * @example ({ user }: RateLimitRequest<{ user: User }>) => accounts.timeZoneOf(user.id)
 */
export type TimeZoneFunction<Context = never> = RequestFunction<Context, string | Promise<string>>;

/** A calendar window, whose time zone may be that of the request. */
export interface PolicyCalendar<Context = never> extends Omit<CalendarWindow, 'timeZone'> {
  /** A time zone of the IANA database, or a function of the request that returns one; default `'UTC'`. */
  readonly timeZone?: string | TimeZoneFunction<Context> | undefined;
}

/** The options of every policy. */
export interface CommonPolicyOptions<Context = never> {
  /**
   * Names the policy in keys and in the body of a 429: 1 to 64 printable ASCII characters. Needed where a route has several
   * policies, with scope `'app'`, and outside a route. Default `'default'`.
   */
  name?: string | undefined;
  /** The identity that the policy counts; default `'client'`. */
  by?: IdentityBy<Context> | undefined;
  /** The requests that share the policy's state; default `'route'`, on a class `'controller'`. */
  scope?: PolicyScope | undefined;
  /**
   * What requests get while the store cannot decide; default the module's `onStoreFailure`. Where several policies stand
   * together, `'closed'` prevails, the `'local'` ones are decided in one step, and the `'open'` ones do not count.
   */
  onStoreFailure?: OnStoreFailure | undefined;
  /**
   * Tokens or places that a request takes: a whole number from 0 to the largest cost that ever fits (of a sliding window log or a
   * concurrency at most 1,000), default 1; or a function of the request. Cost 0 is a peek. A larger number stops the boot; from a
   * function it is rejected with `retryAfterMs` null.
   *
   * A function that throws, rejects or takes longer than `deadline` charges 1. One that returns anything else than a whole
   * number from 0 is a logged 500, and nothing is charged.
   *
   * @example cost: ({ body }: RateLimitRequest<{ body?: Order }>) => Math.max(1, body?.positions?.length ?? 1)
   */
  cost?: number | RequestFunction<Context, number | Promise<number>> | undefined;
  /**
   * The cost by which a settlement may exceed the limit, if a reservation's final cost is more than it reserved
   * (`RateLimiter.reserve`): a whole number from 0 to 1e12 (less where that cannot be counted; sliding window log: to 1,000,000),
   * default one capacity or limit. Later requests wait until it is paid off.
   */
  overdraft?: number | undefined;
  /**
   * What happens to a request without the identity that the policy counts: `'ip'` counts its address, `'reject'` answers 401,
   * `'throw'` is a logged 500. Default: the module's `onMissingIdentity`.
   *
   * @example { algorithm: 'token-bucket', capacity: 20, refill: 10, by: 'user', onMissingIdentity: 'reject' }
   */
  onMissingIdentity?: OnMissingIdentity | undefined;
  /**
   * The number of keys among which a policy `by: 'global'` splits its state, to spread it over the nodes of a Redis Cluster. 1
   * (default) to 64. The limit must be a multiple of it; leaky buckets cannot be split. Elsewhere it changes nothing.
   *
   * Each shard has an equal part of the limit and the rate. A request asks the shards in turn until one lets it pass. Shards
   * never exceed the limit, but may admit less: a request of cost n is rejected when no single shard has n left. Shards on an
   * unavailable node are missing from the limit. `remaining` is an estimate from one shard.
   *
   * @example { name: 'all-rides', algorithm: 'token-bucket', capacity: 30_000, refill: 15_000, by: 'global', shards: 6 }
   */
  shards?: number | undefined;
  /**
   * What the policy's numbers count, for clients: the parameter `qu` of `RateLimit-Policy`. Default `'requests'`, which is not
   * sent. It changes no decision, and needs the module's `headers: 'draft-11'` or `'x-ratelimit+draft-11'`.
   *
   * @example { name: 'upload', algorithm: 'token-bucket', capacity: 50_000_000, refill: '1000000/s', cost: bytesOf, quotaUnit: 'content-bytes' }
   */
  quotaUnit?: QuotaUnit | undefined;
  /**
   * Says after the response whether the request counts. It is charged before the handler runs, so that parallel guesses cannot
   * pass, and refunded when the function returns false. Default: each request counts. Excludes `settle`; not for a concurrency or a leaky bucket.
   *
   * A function that throws, rejects, takes longer than `deadline` or returns no boolean leaves the request charged.
   *
   * @example { name: 'login', algorithm: 'sliding-window-log', limit: 5, window: '15m', countIf: (o) => o.status === 401 || o.aborted }
   */
  countIf?: ((outcome: Outcome) => boolean | Promise<boolean>) | undefined;
  /**
   * Says after the response what the request has cost in the end: a whole number from 0, or null where it is unknown, which leaves
   * `cost` charged. Less than `cost` is refunded, more is charged, up to `overdraft`. Default: `cost` is final. Excludes `countIf`; not for a concurrency or a leaky bucket. A function that fails leaves
   * `cost` charged.
   *
   * @example { name: 'tokens', algorithm: 'token-bucket', capacity: 10_000, refill: 100, cost: 2_000, settle: ({ value }) => (value as Answer).tokens }
   */
  settle?: ((outcome: Outcome) => number | null | Promise<number | null>) | undefined;
  /**
   * How long a request's charge may wait for the end of the request, from the decision on: milliseconds or text, `'1ms'` to
   * `'7d'`. Default without an end: a process that dies in the middle of a request leaves its cost charged. Needs `settle` or
   * `countIf`.
   *
   * Choose it longer than a request takes. The end of a request that has expired refunds nothing, and charges a cost above
   * `atExpiry`. Each request costs two more calls of Redis.
   *
   * @example { name: 'tokens', algorithm: 'fixed-window', limit: 1_000_000, window: { calendar: 'month' }, cost: 2_000, settle: ({ value }) => (value as Answer).tokens, expires: '60s' }
   */
  expires?: Duration | undefined;
  /** The final cost of a charge that expires. `'cancel'` (default) refunds all; else a whole number from 0 below `cost`. Needs `expires`. */
  atExpiry?: 'cancel' | number | undefined;
  /**
   * Requests for which it returns true are not counted by this policy. Default: all are counted. If it throws, rejects or takes
   * longer than `deadline`, the request is counted, and at most one warning a second is logged.
   */
  skipIf?: RequestFunction<Context, boolean | Promise<boolean>> | undefined;
  /**
   * Other numbers for clients of a plan, by the plan's name: 1 to 64 printable ASCII characters. What a plan leaves out stays
   * as it is in the policy; clients without a plan, or with a plan that is not listed, get the policy's own numbers. The
   * module's `plan` says which plan a client has, or which numbers: for these alone, `{}` is enough. Default none. Not with `by: 'global'`.
   *
   * @example { name: 'api', algorithm: 'token-bucket', capacity: 10, refill: 1, by: 'user', plans: { pro: { capacity: 100, refill: 50 } } }
   */
  plans?: Readonly<Record<string, PlanNumbers<Context>>> | undefined;
  /**
   * Classes of requests, the most important one first, and the part of the limit that each may fill: above 0, at most 1, not
   * rising, the first one 1. 1 to 16 classes; default none. A request of a class passes only while it leaves the rest of the limit free
   * for the classes above it. A part is rounded down to whole units. Not with `prefetch`, `shards`, `blockFor` or `else`.
   *
   * Source: the reserve for critical requests in Stripe, "Scaling your API with rate limiters" (2017).
   *
   * @example { name: 'matching', algorithm: 'token-bucket', capacity: 300, refill: 150, by: 'global', scope: 'app', priorities: { rides: 1, estimates: 0.5 } }
   */
  priorities?: Readonly<Record<string, number>> | undefined;
  /**
   * With `priorities`: the class of the requests, or a function of the request that returns it. Default: the first class. A
   * function that returns undefined or null leaves a request in that class.
   *
   * A function that throws, rejects or takes longer than `deadline` gives the last class, so that a failure never takes what is
   * reserved. A class that `priorities` does not name stops the boot; from a function it is a logged 500, and nothing is charged.
   *
   * @example priority: ({ user }: RateLimitRequest<{ user?: User }>) => (user?.isPaying ? 'critical' : 'background')
   */
  priority?: string | PriorityFunction<Context> | undefined;
  /**
   * The name of the policy, one of the module's `policies`, that is charged in place of this one for a request that does not fit
   * it. Default none: the request is rejected. The request is still all or nothing: the policies that stand beside this one are
   * charged with the policy that takes it, or none is.
   *
   * The other policy counts by its own `by`, with its own `cost` if it has one, and across the application unless it has a
   * `scope`. `countIf` and `settle` of the first policy hold for both. docs/together.md says what neither of the two goes with.
   *
   * @example { name: 'monthly', algorithm: 'fixed-window', limit: 10_000, window: { calendar: 'month' }, by: 'user', else: 'credits' }
   */
  else?: string | undefined;
  /**
   * Default `'enforce'`. A policy in `'shadow'` is charged for requests that the other policies allow and that fit it. What it
   * would have rejected is in `Decision.shadow`, and in metrics of its own.
   *
   * @example { name: 'tight', algorithm: 'token-bucket', capacity: 10, refill: 5, mode: 'shadow' }
   */
  mode?: PolicyMode | undefined;
  /**
   * How long a rejection by this policy blocks the identity: milliseconds, or text such as `'10m'`. 1 ms to 100 years, default
   * no block. Meanwhile the policy rejects each request, nothing is charged, and no request makes the block longer. Peeks,
   * rejections by other policies and rejections without the store do not count.
   *
   * A list of up to 16 durations, each longer than the one before and at most 50 years, blocks longer each time the client comes back. The last one
   * repeats. A block is the first one again when the longest duration has passed since the last block ended.
   *
   * @example { name: 'login', algorithm: 'fixed-window', limit: 5, window: '15m', by: 'ip', blockFor: '1h', blockAfter: 3 }
   */
  blockFor?: Duration | readonly Duration[] | undefined;
  /**
   * With `blockFor`: the number of rejections that begin a block, counted for `blockFor` (of a list: its first duration) from the
   * first one on. A whole number from 1 (default) to 1,000,000.
   */
  blockAfter?: number | undefined;
  /**
   * The parts of the limit at which the module's `onThreshold` is called: 1 to 8 numbers above 0, to 1, in ascending order. Default
   * none. Each is told once for each window and identity, over all processes. Not for a concurrency, and not with `shards` or
   * `prefetch`.
   *
   * @example { name: 'monthly', algorithm: 'fixed-window', limit: 10_000, window: { calendar: 'month' }, by: 'user', thresholds: [0.8, 1] }
   */
  thresholds?: readonly number[] | undefined;
}

/**
 * A burst of up to `capacity`, then a constant rate.
 * @example { algorithm: 'token-bucket', capacity: 20, refill: 10 }
 */
export interface TokenBucketPolicy<Context = never> extends CommonPolicyOptions<Context> {
  /** A burst of up to `capacity`, then `refill`. */
  algorithm: 'token-bucket';
  /** Tokens that the bucket holds: a whole number from 1 to 1e12. */
  capacity: number;
  /** Tokens per second, or text such as `'600/m'`: above 0, to 1e9 a second. A full refill takes at most 100 years. */
  refill: Rate;
  /**
   * Lets processes take tokens for their busy clients ahead of demand, and decide on their own: see `PrefetchOptions`. Default: each
   * request asks the store. docs/together.md says what it does not go with.
   *
   * @example prefetch: { for: '100ms', max: 200 }
   */
  prefetch?: PrefetchOptions | undefined;
}

/**
 * A queue: requests wait for their slot and leave at a constant rate. A full queue rejects. At most one on a route.
 * @example { algorithm: 'leaky-bucket', capacity: 5_000, drain: 3_000, by: 'global', name: 'index' }
 */
export interface LeakyBucketPolicy<Context = never> extends CommonPolicyOptions<Context> {
  /** Requests wait for a slot; they leave at `drain`. */
  algorithm: 'leaky-bucket';
  /** Waiting places: a whole number from 1 to 1e12. */
  capacity: number;
  /** Departures per second, or text such as `'600/m'`: above 0, to 1e9 a second. A full queue empties within 100 years. */
  drain: Rate;
}

/** The options of the sliding windows. */
interface WindowPolicy<Context> extends CommonPolicyOptions<Context> {
  /** Cost that is allowed in a window: a whole number from 1 to 1e12 (sliding window log: to 1,000,000). */
  limit: number;
  /**
   * Length: milliseconds, or text such as `'1m'`, from 1 ms to 100 years (sliding window counter: to 50, and to 2^52 microseconds
   * divided by `limit`).
   */
  window: Duration;
}

/**
 * At most `limit` in each window of the clock, of a calendar, or from a client's first request; up to twice that around a window's edge.
 * @example { algorithm: 'fixed-window', limit: 60, window: '1m' }
 * @example { algorithm: 'fixed-window', limit: 1_000, window: { calendar: 'day', timeZone: 'America/New_York' } }
 * @example { algorithm: 'fixed-window', limit: 20, window: { calendar: 'day', timeZone: (request) => zoneOf(request) } }
 */
export interface FixedWindowPolicy<Context = never> extends CommonPolicyOptions<Context> {
  /** A count for each window. */
  algorithm: 'fixed-window';
  /** Cost that is allowed in a window: a whole number from 1 to 1e12. */
  limit: number;
  /**
   * Length: milliseconds, or text such as `'1m'`, from 1 ms to 100 years. Or a day, a week (from Monday) or a month of a time
   * zone (default UTC), also over changes of daylight saving time; the zone may be a function of the request.
   */
  window: Duration | PolicyCalendar<Context>;
  /**
   * Where windows begin: `'clock'` (default), at whole multiples of `window` since 1970, the same for all clients; or
   * `'first-request'`, with the first request of a client that is charged after their last window has ended, so that clients do
   * not come back in the same second. Not with a calendar. Another alignment begins with a fresh count.
   *
   * @example { algorithm: 'fixed-window', limit: 60, window: '1m', align: 'first-request' }
   */
  align?: 'clock' | 'first-request' | undefined;
  /**
   * Lets processes take tokens for their busy clients ahead of demand, and decide on their own: see `PrefetchOptions`. Default: each
   * request asks the store. docs/together.md says what it does not go with.
   *
   * @example prefetch: { for: '100ms', max: 200 }
   */
  prefetch?: PrefetchOptions | undefined;
}

/**
 * At most `limit` in every interval of a window's length. It stores one instant for each unit of cost; a cost above 1,000
 * never fits.
 * @example { algorithm: 'sliding-window-log', limit: 5, window: '1m' }
 */
export interface SlidingWindowLogPolicy<Context = never> extends WindowPolicy<Context> {
  /** Exact in every interval of a `window`. It stores an instant for each unit of cost. */
  algorithm: 'sliding-window-log';
}

/**
 * Close to the log with two counts a key: the previous window's count fades out over the current window.
 * @example { algorithm: 'sliding-window-counter', limit: 30, window: '1m' }
 */
export interface SlidingWindowCounterPolicy<Context = never> extends WindowPolicy<Context> {
  /** Close to the log, with two counts a key. */
  algorithm: 'sliding-window-counter';
  /**
   * Lets processes take tokens for their busy clients ahead of demand, and decide on their own: see `PrefetchOptions`. Default: each
   * request asks the store. docs/together.md says what it does not go with.
   *
   * @example prefetch: { for: '100ms', max: 200 }
   */
  prefetch?: PrefetchOptions | undefined;
}

/**
 * At most `limit` requests at once, over all processes. A request holds a lease until its response ends, fails, or its client
 * disconnects. Requests that last longer renew their lease. The leases of a process that dies end by themselves.
 * @example { algorithm: 'concurrency', limit: 3, lease: '30s', by: 'user' }
 */
export interface ConcurrencyPolicy<Context = never> extends CommonPolicyOptions<Context> {
  /** Requests at once, not in a time. */
  algorithm: 'concurrency';
  /** Requests of cost 1 at once: a whole number from 1 to 1,000,000. A request takes a lease for each unit of its cost. */
  limit: number;
  /** How long a lease lasts unless it is renewed: milliseconds, or text such as `'30s'`, from 1 s to 24 h. */
  lease: Duration;
}

/**
 * Other numbers for a policy: some of its algorithm's own options. What is left out stays as it is in the policy.
 *
 * @example { capacity: 100, refill: 50 } // of a bucket
 * @example { limit: 1_000 } // of a window
 */
export interface PolicyNumbers {
  /**
   * The tokens of a token bucket, or the waiting places of a leaky bucket: a whole number from 0 to 1e12. Default: the policy's
   * own. With 0 the policy rejects everything.
   */
  readonly capacity?: number | undefined;
  /**
   * The refill of a token bucket: tokens per second, or text such as `'600/m'`, above 0, to 1e9 a second. Default: the policy's
   * own.
   */
  readonly refill?: Rate | undefined;
  /**
   * The drain of a leaky bucket: departures per second, or text such as `'600/m'`, above 0, to 1e9 a second. Default: the
   * policy's own.
   */
  readonly drain?: Rate | undefined;
  /**
   * The limit of a window or a concurrency: a whole number from 0 to 1e12 (sliding window log and concurrency: to 1,000,000).
   * Default: the policy's own. With 0 the policy rejects everything.
   */
  readonly limit?: number | undefined;
  /**
   * The length of a window: milliseconds, or text such as `'1m'`, from 1 ms to 100 years (sliding window counter: to 50), or a
   * calendar for a fixed window. Default: the policy's own. Another length begins with a fresh count.
   */
  readonly window?: Duration | CalendarWindow | undefined;
  /**
   * Where the windows of a fixed window begin: `'clock'` or `'first-request'`. Default: the policy's own. Another alignment begins
   * with a fresh count.
   */
  readonly align?: 'clock' | 'first-request' | undefined;
  /**
   * The lease of a concurrency: milliseconds, or text such as `'30s'`, from 1 s to 24 h. Default: the policy's own. Another
   * length begins with no leases.
   */
  readonly lease?: Duration | undefined;
}

/** The numbers of a plan. Its time zone may depend on the request. */
export type PlanNumbers<Context = never> = Omit<PolicyNumbers, 'window'> & {
  /**
   * The length of a window: milliseconds, or text such as `'1m'`, from 1 ms to 100 years (sliding window counter: to 50), or a
   * calendar for a fixed window. Default: the policy's own. Another length begins with a fresh count.
   */
  readonly window?: Duration | PolicyCalendar<Context> | undefined;
};

/** One limit: an algorithm, its parameters, a name, and the identity that it counts. */
export type Policy<Context = never> =
  | TokenBucketPolicy<Context>
  | LeakyBucketPolicy<Context>
  | FixedWindowPolicy<Context>
  | SlidingWindowLogPolicy<Context>
  | SlidingWindowCounterPolicy<Context>
  | ConcurrencyPolicy<Context>;

/**
 * Chooses a policy, or the name of one, for a request: a tenant's plan for example. Give each plan's policy a name of its own.
 * A function that throws, rejects or takes longer than `deadline` is replaced by its fallback: see `PolicyChoice`.
 */
export type PolicyFunction<Context = never> = RequestFunction<
  Context,
  Policy<Context> | string | Promise<Policy<Context> | string>
>;

/**
 * A policy function with a policy to fall back on when the function fails.
 *
 * @example @RateLimit({ choose: (request) => planOf(request), fallback: 'free' })
 */
export interface PolicyChoice<Context = never> {
  /** Returns a policy, or the name of one, for a request. It has the module's `deadline`. */
  readonly choose: PolicyFunction<Context>;
  /**
   * A policy, or the name of one, for requests whose function fails. Default: the module's `defaults`. Without either, such
   * requests pass uncounted.
   */
  readonly fallback?: Policy<Context> | string | undefined;
}

/** The names of all options of policies and of choices. */
type OptionsOf<T> = T extends unknown ? keyof T : never;

/**
 * A use of one of the module's `policies`, by its name, with a class of its own: the state, the numbers and all other options are
 * those of the policy.
 *
 * @example @RateLimit({ policy: 'matching', priority: 'estimates' })
 */
export type PolicyUse<Context = never> = {
  /** The name of one of the module's `policies`, which has `priorities`. */
  readonly policy: string;
  /** The class of the requests, or a function of the request that returns it. */
  readonly priority: string | PriorityFunction<Context>;
} & { readonly [Option in Exclude<OptionsOf<Policy<Context> | PolicyChoice<Context>>, 'priority'>]?: never };

/**
 * What `@RateLimit` takes: a policy, the name of one of the module's `policies`, a use of one with a class of its own, or a function
 * that chooses one.
 */
export type PolicySource<Context = never> =
  Policy<Context> | string | PolicyUse<Context> | PolicyFunction<Context> | PolicyChoice<Context>;
