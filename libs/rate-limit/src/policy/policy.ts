import type { ExecutionContext } from '@nestjs/common';
import type { Identity, OnMissingIdentity } from '../identity/identity.js';
import type { Duration } from '../algorithms/duration.js';
import type { Rate } from '../algorithms/rate.js';

/**
 * Whom a policy counts:
 * - `'client'` (default): the first identity that the module's chain finds
 * - `'ip'`, `'user'`, `'api-key'`: that kind of identity; where a request has none, see `onMissingIdentity`
 * - `'global'`: everybody together
 * - a function: what it returns, of any kind; undefined, null or an empty value where the request has none
 *
 * @example by: (context) => ({ kind: 'tenant', value: context.switchToHttp().getRequest().tenant?.id })
 */
export type PolicyBy =
  | 'client'
  | 'ip'
  | 'user'
  | 'api-key'
  | 'global'
  | ((context: ExecutionContext) => MaybeIdentity | Promise<MaybeIdentity>);

/** What a `by` function may return: nobody, and a value that is not there, follow `onMissingIdentity`. */
export type MaybeIdentity =
  { readonly kind: string; readonly value: Identity['value'] | null | undefined } | null | undefined;

/**
 * Which requests share a policy's state:
 * - `'route'` (default on methods and in `defaults`): those of one handler
 * - `'controller'` (default on classes): those of all handlers of the class
 * - `'app'`: those of all routes that use the policy's name
 */
export type PolicyScope = 'route' | 'controller' | 'app';

/**
 * What requests get while the store cannot decide:
 * - `'local'`: this process decides, with its share of the limit (`localShare`); each process counts for itself
 * - `'open'`: they pass, uncounted
 * - `'closed'`: they are answered 503 with `Retry-After`
 */
export type OnStoreFailure = 'local' | 'open' | 'closed';

interface PolicyBase {
  /**
   * Tells policies apart in keys and in the body of a 429. At most 64 characters. Needed where a route has several
   * policies, with scope `'app'`, and outside a route; otherwise `'default'`.
   */
  name?: string;
  /** Whom it counts; default `'client'`. */
  by?: PolicyBy;
  /** Which requests share its state; default `'route'`, on a class `'controller'`. */
  scope?: PolicyScope;
  /**
   * What requests get while the store cannot decide; default the module's `onStoreFailure`. Of several policies of a request
   * `'closed'` prevails; those that are `'local'` are decided in one step, those that are `'open'` do not count.
   */
  onStoreFailure?: OnStoreFailure;
  /**
   * Tokens or places that a request takes: a whole number, default 1, or a function of the request. 0 only looks. What can
   * never fit is refused: at boot where it is a number, else by the decision, which then has no `retryAfterMs`. A function that
   * throws, rejects or returns anything else (NaN, a fraction, a negative, text) is a logged 500, and nothing is charged.
   *
   * @example cost: (context) => Math.max(1, context.switchToHttp().getRequest().body?.positions?.length ?? 1)
   */
  cost?: number | ((context: ExecutionContext) => number | Promise<number>);
  /**
   * What becomes of a request without the identity that the policy counts: `'ip'` counts its address, `'refuse'` answers 401,
   * `'throw'` is a logged 500. Default: the module's `onMissingIdentity`, which is `'ip'` unless said.
   *
   * @example { algorithm: 'token-bucket', capacity: 20, refill: 10, by: 'user', onMissingIdentity: 'refuse' }
   */
  onMissingIdentity?: OnMissingIdentity;
  /**
   * On a Redis Cluster, among how many keys a policy `by: 'global'` splits its state, so that they lie on several nodes: 1
   * (default) to 64. Its limit must be a multiple of it; not for leaky buckets. Each shard has an equal part of the limit and
   * the rate, and a request asks one after the other (those known to be empty it passes over) until one lets it pass.
   * Together they never admit more than the whole would; less by what is left over in each: a request of cost n is refused
   * when every shard has fewer than n. Of windows that is `shards` x (n - 1) at most, nothing for cost 1; of token buckets and
   * sliding window counters, which have fractions, fewer than `shards` x n. And a token bucket's shard that is full is not
   * refilled while others are not, so let each have room for many requests. Shards whose node is away are missing from the
   * limit. `remaining` is an estimate from the shard that was asked. Elsewhere than on a Cluster it changes nothing.
   *
   * @example { name: 'all-rides', algorithm: 'token-bucket', capacity: 30_000, refill: 15_000, by: 'global', shards: 6 }
   */
  shards?: number;
  /**
   * Requests for which it returns true are not counted by this policy. Where it throws or rejects, the request is counted, and a
   * warning says so, once a second at most.
   */
  skipIf?: (context: ExecutionContext) => boolean | Promise<boolean>;
}

/**
 * A burst of up to `capacity`, then a constant rate.
 * @example { algorithm: 'token-bucket', capacity: 20, refill: 10 }
 */
export interface TokenBucketPolicy extends PolicyBase {
  algorithm: 'token-bucket';
  /** Tokens the bucket holds: a whole number from 1. */
  capacity: number;
  /** Tokens per second, or such as `'600/m'`. A full refill takes at most 100 years. */
  refill: Rate;
}

/**
 * A queue: requests wait for their slot and leave at a constant rate; full, it refuses. At most one on a request.
 * @example { algorithm: 'leaky-bucket', capacity: 5_000, drain: 3_000, by: 'global', name: 'index' }
 */
export interface LeakyBucketPolicy extends PolicyBase {
  algorithm: 'leaky-bucket';
  /** Waiting places: a whole number from 1. */
  capacity: number;
  /** Departures per second, or such as `'600/m'`. */
  drain: Rate;
}

/** What the three windows share. */
interface WindowPolicy extends PolicyBase {
  /** Cost allowed in a window: a whole number from 1 (of a log: to 1,000,000). */
  limit: number;
  /** Length: milliseconds, or such as `'1m'`; at most 100 years. */
  window: Duration;
}

/**
 * At most `limit` in each window of the clock; up to twice that around a window's edge.
 * @example { algorithm: 'fixed-window', limit: 60, window: '1m' }
 */
export interface FixedWindowPolicy extends WindowPolicy {
  algorithm: 'fixed-window';
}

/**
 * At most `limit` in every interval of a window's length; one instant is stored for each unit of cost (at most 1,000 each).
 * @example { algorithm: 'sliding-window-log', limit: 5, window: '1m' }
 */
export interface SlidingWindowLogPolicy extends WindowPolicy {
  algorithm: 'sliding-window-log';
}

/**
 * Close to the log at two counts a key: the previous window's count fades out over the current one.
 * @example { algorithm: 'sliding-window-counter', limit: 30, window: '1m' }
 */
export interface SlidingWindowCounterPolicy extends WindowPolicy {
  algorithm: 'sliding-window-counter';
}

/** One limit: an algorithm, its parameters, a name, and whom it counts. */
export type Policy =
  TokenBucketPolicy | LeakyBucketPolicy | FixedWindowPolicy | SlidingWindowLogPolicy | SlidingWindowCounterPolicy;

/**
 * Chooses a policy, or the name of one, for a request: a tenant's plan for example. Give each plan's policy a name of its own.
 * A function that throws, rejects or takes longer than `deadlineMs` is replaced by its fallback: see `PolicyChoice`.
 */
export type PolicyFunction = (context: ExecutionContext) => Policy | string | Promise<Policy | string>;

/**
 * A policy function with a policy to fall back on when the function fails.
 *
 * @example @RateLimit({ choose: (context) => planOf(context), fallback: 'free' })
 */
export interface PolicyChoice {
  readonly choose: PolicyFunction;
  /**
   * A policy, or the name of one, for requests whose function fails. Default: the module's `defaults`. Without either, such
   * requests pass uncounted.
   */
  readonly fallback?: Policy | string;
}

/** What `@RateLimit` takes: a policy, the name of one of the module's `policies`, or a function that chooses one. */
export type PolicySource = Policy | string | PolicyFunction | PolicyChoice;
