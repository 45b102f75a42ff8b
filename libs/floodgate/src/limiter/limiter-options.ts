import type { RoomOptions } from './rooms.js';
import type { DecisionEvent } from '../watch/decision-event.js';
import type { IdentityNaming } from '../identity/identity-tag.js';
import type { OnStoreFailure, Policy } from '../policy/policy.js';
import type { RedisClient } from '../stores/redis/clients/redis-client.js';
import type { OptionNames, RedisConnectionOptions } from '../stores/redis/clients/redis-options.js';
import type { StoreStateChange } from '../stores/store-state.js';
import type { RateLimitStore } from '../stores/store.js';
import type { Logger } from '../util/logger.js';
import type { Duration } from '../util/duration.js';

/** The options of `createLimiter`. All of them are optional. */
export interface LimiterOptions extends RoomOptions {
  /**
   * The Redis that keeps the limits for all processes: a `redis://` or `rediss://` URL or ioredis options, which the limiter
   * opens and closes, or a `Redis` or `Cluster` client, which the limiter duplicates and leaves open. Without it, and without
   * `store`, each process counts for itself.
   */
  redis?: string | RedisConnectionOptions | (RedisClient & OptionNames) | undefined;
  /**
   * A store of your own, or a `MemoryStore` or `RedisStore` with options. Without it the limiter makes a `RedisStore` for `redis`,
   * else a `MemoryStore`. Not together with `redis`.
   */
  store?: RateLimitStore | undefined;
  /** Policies by name, for `RateLimiter`. Default none. */
  policies?: Readonly<Record<string, Policy>> | undefined;
  /** How keys begin: 1 to 32 printable characters without blanks and braces. Default `'rl'`. */
  keyPrefix?: string | undefined;
  /**
   * Keeps identities out of Redis and out of stores of your own: keys contain an HMAC of them, and what names them in values is
   * encrypted. A text of at least 32 bytes and 8 different characters, the same in all processes; processes with different ones count
   * apart. An array reads overrides under each of its secrets, and writes under the first one, under which all counters begin anew. Default
   * none: keys show short identities.
   *
   * @example identitySecret: process.env.IDENTITY_SECRET
   * @see docs/identity.md, "What stands where"
   */
  identitySecret?: string | readonly [current: string, ...previous: string[]] | undefined;
  /** The clock that decides: `'redis'` (default), or `'app'`, the processes' wall clocks. */
  clock?: 'redis' | 'app' | undefined;
  /**
   * The most that the clocks of processes may differ with `clock: 'app'`: 0 to `'10s'` in whole milliseconds, default `'1s'`. The
   * limits hold up to this skew, see "Clocks" in docs/redis.md. A process warns when its clock differs from Redis's by more than
   * half of it.
   *
   * @example { redis, clock: 'app', maxSkew: '200ms' }
   */
  maxSkew?: Duration | undefined;
  /**
   * The time that a decision may take before `onStoreFailure` applies, and that each function of a policy may take: `'1ms'` to
   * `'10s'` in whole milliseconds, default `'50ms'`. A stall of this process's event loop does not count.
   */
  deadline?: Duration | undefined;
  /**
   * What the boot does while Redis cannot decide, because it is out of reach or refuses (a wrong password, a missing right):
   * `'retry'` (default) starts, keeps trying and applies `onStoreFailure` meanwhile; `'required'` stops the boot, also if
   * `redis` is not set. A missing database stops the boot in both cases.
   *
   * @example { redis: process.env.REDIS_URL, connect: 'required' }
   */
  connect?: 'retry' | 'required' | undefined;
  /** What requests get while the store cannot decide: `'local'` (default), `'open'` or `'closed'`. A policy may say otherwise. */
  onStoreFailure?: OnStoreFailure | undefined;
  /**
   * The number of processes among which the limits are divided while each decides for itself (`'local'`): 1 (default) to 10,000.
   * With the default, 12 processes admit 12 times the limit during an outage.
   *
   * A share is rounded down, but never below 1 or a policy's constant cost.
   *
   * @example localShare: 12
   */
  localShare?: number | undefined;
  /**
   * The bytes that clients' states may take while the process decides for itself (`'local'`): a whole number from 1, default
   * 64,000,000, which is enough for some 200,000 clients. Beyond it the process decides as a full `MemoryStore` does.
   *
   * @example fallbackMaxBytes: 16_000_000
   */
  fallbackMaxBytes?: number | undefined;
  /**
   * Called when the store becomes unavailable, and when it is available again. Default none. An error of the function is logged.
   */
  onStoreStateChange?: ((change: StoreStateChange) => void) | undefined;
  /**
   * Called with every decision of the guard, of `middleware` and of `RateLimiter.consume`, at once and in the request's context
   * (`AsyncLocalStorage`). Default none. A peek is no decision. An error of the function is logged, at most once a second. The
   * function must not ask the limiter.
   *
   * @example onDecision: ({ decision, source, route, durationMs }) => meter.record(durationMs, { source, route })
   */
  onDecision?: ((event: DecisionEvent) => void) | undefined;
  /**
   * How `onDecision` names the identities that the policies counted (`identities`): by the identity's tag, such as
   * `'user:rider-1'` or `'ip:203.0.113.7'`, or by a `'hash'` of its value. Default: not at all. An API key is a hash in both. A
   * hash is a pseudonym: whoever can list your users or addresses can find them again.
   *
   * With `'hash'`, other events and `stats().topRejected` name identities by a hash as well; otherwise by the tag.
   *
   * @example decisionIdentity: 'hash'
   */
  decisionIdentity?: IdentityNaming | undefined;
  /**
   * The most calls of `RateLimiter.schedule` that wait for one policy in this process: a whole number from 1, default 10,000. A
   * class of `priorities` fills its part of them. A further call rejects with a `CallQueueFullError`, and is not charged.
   *
   * @example maxQueuedCalls: 500
   */
  maxQueuedCalls?: number | undefined;
  /** Gets the lines about the limiter, such as a Redis that is out of reach. Default: warnings and errors go to the console. */
  logger?: Logger | undefined;
}
