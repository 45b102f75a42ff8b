import type { AlgorithmName } from '../algorithms/core/algorithm.js';
import type { SheddingStats } from '../shedding/load-shedder.js';
import type { TopRejected } from './rejected/top-rejected.js';
import type { DecisionSource } from '../charges/layer-verdict.js';

/** The functions that an application gives to the module and to policies, as the metrics name them. */
export type FunctionKind =
  | 'policy'
  | 'identity'
  | 'cost'
  | 'timeZone'
  | 'priority'
  | 'skipIf'
  | 'countIf'
  | 'settle'
  | 'problem'
  | 'plan'
  | 'list'
  | 'shed';

/** A snapshot of the counters of a limiter in this process, since the limiter was made. */
export interface RateLimitStats {
  /**
   * Requests of the guard, of the module's `middleware` (a request that passes both counts twice) and of `RateLimiter.consume`.
   * Each of them is allowed, rejected or unavailable. A call of `RateLimiter.schedule` counts as allowed when it gets its turn: while it
   * waits, or where it gets none, it is in no count of requests.
   */
  readonly requests: number;
  /** Allowed requests. */
  readonly allowed: number;
  /** Requests that a policy rejected: a 429 of the guard. */
  readonly rejected: number;
  /** Requests that got a 503, because the store could not decide and `onStoreFailure` was `'closed'`. */
  readonly unavailable: number;
  /** Requests by the source of their decision; the sum is `requests`. */
  readonly sources: Readonly<Record<DecisionSource, number>>;
  /** The decisions of each policy, in the order of their first use. */
  readonly policies: readonly PolicyStats[];
  /**
   * The decisions of the policies in shadow, as if each were enforced: `allowed` passed and fit, `rejected` would have been rejected
   * by it. None of them counts in the fields above.
   */
  readonly shadows: readonly PolicyStats[];
  /**
   * Milliseconds until the store answered or failed, for each request that it was asked about. Undefined without
   * `RateLimitMetricsModule` and `onDecision`: times are not measured then.
   */
  readonly latencyMs: Distribution | undefined;
  /**
   * How long requests waited for a leaky bucket's departure slot, by the policy whose slot was the latest. Empty without
   * `RateLimitMetricsModule` and `onDecision`.
   */
  readonly queueTimes: readonly QueueTimeStats[];
  /** Requests that hold a lease of a `concurrency` at the moment, by policy, since the first one was seen. */
  readonly leases: readonly LeaseStats[];
  /**
   * Requests in each batch for the Redis that the module opened. On a Cluster a cross-slot request is in several batches.
   */
  readonly batchSizes: Distribution;
  /**
   * Requests, peeks and probes that the store did not answer in time. Requests that were not sent, because Redis was known to be
   * unavailable, are missing here: `sources` counts them.
   */
  readonly storeFailures: number;
  /**
   * Functions of the application that threw, rejected or took longer than the deadline: policy functions, identity resolvers
   * and `by` functions, cost and `priority` functions, `skipIf`, and the module's `problem`, `plan`, `allowList` and `blockList` (`list`), and
   * `check` of its `shed`. `priority` of `shed` counts with those of policies.
   */
  readonly functionFailures: Readonly<Record<FunctionKind, number>>;
  /** The sources of the clients' plans: one is counted for each policy with `plans` that a request or a call met. */
  readonly plans: PlanStats;
  /** Requests whose address is in `allowList` or `blockList`. They are in no other count. */
  readonly addresses: { readonly allowed: number; readonly blocked: number };
  /**
   * Requests that a policy `by: 'user'`, `'api-key'` or a function counted by their address, because they lacked that identity. In
   * the order in which the policies are met.
   */
  readonly missingIdentities: readonly MissingIdentityStats[];
  /** Allowed requests that did not fit a policy, and that a policy behind its `else` took. */
  readonly runOver: readonly RunOverStats[];
  /** The state of the store. The module only watches a Redis that it opened. */
  readonly store: StoreStats;
  /** The charges that overrides have changed: a request has one for each of its policies. */
  readonly overridden: OverriddenCharges;
  /** The overrides that this process obeys. */
  readonly overrides: OverrideStats;
  /** Requests that wait at the moment: for a leaky bucket's departure slot, or for their client's plan. */
  readonly waiting: number;
  /** The calls of `RateLimiter.schedule`, by policy, in the order of their first calls. */
  readonly scheduled: readonly ScheduledStats[];
  /** The reservations that expire, of `RateLimiter.reserve`. */
  readonly reservations: ReservationStats;
  /** How this process sheds load; undefined without the module's `shed`. */
  readonly shedding: SheddingStats | undefined;
  /** The tokens of policies with `prefetch`. */
  readonly prefetch: PrefetchCounts;
  /**
   * The identities that policies rejected most often in the last 5 to 10 minutes, in this process. `GET top-rejected` of
   * `RateLimitAdminModule` adds up all processes.
   */
  readonly topRejected: TopRejected;
  /** Decisions that a full `MemoryStore`, that of the fallback included, made on a shared overflow state. */
  readonly memoryOverflows: number;
}

/**
 * The scheduled calls of one policy: those that wait, and what became of the others. A call of several policies counts once for each.
 * Policies of one name count together.
 */
export interface ScheduledStats {
  /** The policy's name; `'other'` beyond the first 1,000 names. */
  readonly policy: string;
  /** Calls that wait for their turn at the moment. */
  readonly waiting: number;
  /** Calls that ran without waiting. */
  readonly atOnce: number;
  /** Calls that waited, and ran. */
  readonly waited: number;
  /** Calls that got no turn within `maxWait`. */
  readonly late: number;
  /** Calls whose `signal` was aborted before their turn. */
  readonly aborted: number;
  /** Calls that came while `maxQueuedCalls` waited. */
  readonly full: number;
  /** Calls that came, or waited, while the application shut down. */
  readonly closed: number;
  /** Calls that could not be decided: their cost never fits, or the store failed and `maxWait` was 0. */
  readonly failed: number;
}

/** The reservations of this process that expire. */
export interface ReservationStats {
  /** Reservations that this process settles when they expire, unless they are settled before: at most 100,000. */
  readonly open: number;
  /** Calls of `reserve` that were rejected with a `ReservationsFullError`. */
  readonly rejected: number;
  /** Reservations that came while 100,000 were open, are in no log, and stay charged when they expire. */
  readonly untimed: number;
}

/**
 * Tokens that this process has charged ahead of demand (`prefetch`), by what became of them. The remaining tokens were used, or
 * can still be used.
 */
export interface PrefetchCounts {
  readonly prefetched: number;
  /** Unused, and returned to the store. */
  readonly returned: number;
  /** Unused, and not returned, or perhaps returned too late: they count as used. */
  readonly expired: number;
}

export interface OverriddenCharges {
  /** Charges on a policy with other numbers. */
  readonly changed: number;
  /** Charges that were left out. */
  readonly exempt: number;
  /** Charges that were rejected without asking the store. */
  readonly blocked: number;
}

export interface OverrideStats {
  /** Overrides in force. Those that have ended can be among them for a moment. */
  readonly count: number;
  /** Whether the overrides were read from Redis at least once; true without Redis. */
  readonly loaded: boolean;
}

/** The decisions of one policy. Policies of one name and algorithm count together. */
export interface PolicyStats {
  /** The policy's name; `'other'` beyond the first 1,000 names, because functions can make up any number. */
  readonly policy: string;
  readonly algorithm: AlgorithmName;
  /** The class of the requests: a policy with `priorities` has an entry for each. Absent for the others. */
  readonly priority?: string;
  /** Requests that the policy was evaluated for, whatever decided. */
  readonly requests: number;
  /** Evaluated requests that were allowed. */
  readonly allowed: number;
  /**
   * Evaluated requests that this policy rejected. The others, up to `requests`, were rejected by another policy, or got a 503
   * with `onStoreFailure: 'closed'`.
   */
  readonly rejected: number;
}

/** How long the requests of one policy waited. `'other'` beyond the first 1,000. */
export interface QueueTimeStats {
  readonly policy: string;
  /** The class of the requests; absent for a policy without `priorities`. */
  readonly priority?: string;
  /** `'canceled'`: the client left, or the process shut down, before the slot. */
  readonly result: 'allowed' | 'canceled';
  readonly waitedMs: Distribution;
}

/** The leases of one policy in this process. `'other'` beyond the first 1,000 names. */
export interface LeaseStats {
  readonly policy: string;
  readonly held: number;
}

/** The requests of one policy without the identity that it asks for. Policies of one name count together. */
export interface MissingIdentityStats {
  /** The policy's name; `'other'` beyond the first 1,000 names. */
  readonly policy: string;
  readonly requests: number;
}

/** The requests that one policy left to another one. `'other'` beyond the first 1,000 pairs. */
export interface RunOverStats {
  /** The policy that the requests met first, and did not fit. */
  readonly policy: string;
  /** The policy that took them. */
  readonly to: string;
  readonly requests: number;
}

/** Plans that were looked for, by where they came from. `functionFailures.plan` counts the failures of `resolve`. */
export interface PlanStats {
  /** Cache hits: no call of `resolve` was awaited. */
  readonly cache: number;
  /** Misses: `resolve` answered within the deadline. */
  readonly resolver: number;
  /** Misses: `resolve` failed or took too long, or code asked without a request. The client's earlier plan counted. */
  readonly lastKnown: number;
  /** Misses of clients whose plan was not known: the `fallback` counted. */
  readonly fallback: number;
}

export interface StoreStats {
  /** Whether the store decides. False while any node of its Cluster is unavailable. */
  readonly available: boolean;
  /** Why the store is unavailable; undefined while it is available. */
  readonly reason: string | undefined;
  /** Milliseconds since the store became unavailable; 0 while it is available. */
  readonly outageMs: number;
}

/** A distribution of values. */
export interface Distribution {
  /** The number of values that were not above each bound, in ascending order. */
  readonly buckets: readonly { readonly upTo: number; readonly count: number }[];
  /** How many values there are. */
  readonly count: number;
  readonly sum: number;
}
