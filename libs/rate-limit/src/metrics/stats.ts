import type { AlgorithmName } from '../algorithms/algorithm.js';
import type { DecisionSource } from './decision-event.js';

/** What a limiter has counted in this process since it was made. A snapshot: it does not change any more. */
export interface RateLimitStats {
  /**
   * Requests: those of the guard, of the module's `middleware` (one that passes both is two) and of `RateLimiter.consume`.
   * Each is one of allowed, rejected and unavailable.
   */
  readonly requests: number;
  /** Requests that passed. */
  readonly allowed: number;
  /** Requests that a policy refused: a 429 of the guard. */
  readonly rejected: number;
  /** Requests that got a 503, since the store could not decide and `onStoreFailure` was `'closed'`. */
  readonly unavailable: number;
  /** The same requests by who decided; their sum is `requests`. */
  readonly sources: Readonly<Record<DecisionSource, number>>;
  /** What each policy has said, in the order in which they were met. */
  readonly policies: readonly PolicyStats[];
  /**
   * How long the store took to answer or to fail, in milliseconds: one for each request that it was asked about. Undefined where
   * nobody needs the times (neither `RateLimitMetricsModule` nor `onDecision` is there), which are not taken then.
   */
  readonly latencyMs: Distribution | undefined;
  /**
   * Requests in each call of the Redis that the module opened. On a Cluster a request whose policies lie in several slots is in
   * several calls.
   */
  readonly batchSizes: Distribution;
  /**
   * Questions that the store failed to answer or to answer in time: of requests, of `peek`, and the probes that look whether
   * Redis is back. Requests that were not sent to a Redis known to be away are none: `sources` counts them.
   */
  readonly storeFailures: number;
  /**
   * Functions of the application that threw, rejected or took longer than the deadline: policy functions, identity resolvers
   * and `by` functions, cost functions and `skipIf`.
   */
  readonly functionFailures: Readonly<Record<'policy' | 'identity' | 'cost' | 'skipIf', number>>;
  /** Whether the store decides, as far as is known: false from an outage of the module's Redis to its end. */
  readonly store: StoreStats;
  /** Requests that wait for a leaky bucket's departure slot now. */
  readonly waiting: number;
  /** Decisions of a full `MemoryStore` (also that of `'local'`) on a state that clients without room share. */
  readonly memoryOverflows: number;
}

/** What one policy has said to requests that it was asked about; only policies of one name and algorithm count together. */
export interface PolicyStats {
  /** Its name; `'other'` of those beyond the first 1,000, which functions can make up at run time. */
  readonly policy: string;
  readonly algorithm: AlgorithmName;
  /** Requests that it stood before, whoever decided. */
  readonly requests: number;
  /** Of these, those that passed. */
  readonly allowed: number;
  /**
   * Of these, those that it refused. Where several policies stand together, the rest was refused by another one; with
   * `onStoreFailure: 'closed'` it got a 503.
   */
  readonly rejected: number;
}

export interface StoreStats {
  /** Whether it decides; not while a node of its Cluster does not. */
  readonly available: boolean;
  /** Why it does not decide; undefined while it does. */
  readonly reason: string | undefined;
  /** Milliseconds that it has not decided for; 0 while it does. */
  readonly outageMs: number;
}

/** How values are distributed. */
export interface Distribution {
  /** For each bound, ascending, how many values were not above it. */
  readonly buckets: readonly { readonly upTo: number; readonly count: number }[];
  /** Of all values. */
  readonly count: number;
  readonly sum: number;
}
