import type { AlgorithmName } from '../algorithms/core/algorithm.js';

/**
 * One policy's decision on a request.
 *
 * @example const daily = decision.policies.find(({ policy }) => policy === 'daily')?.remaining;
 */
export interface PolicyDecision {
  /** The policy's name; `'default'` when it has none. */
  readonly policy: string;
  /** Such as `'token-bucket'`. */
  readonly algorithm: AlgorithmName;
  /** The policy's capacity or limit; with `priorities`, the part of it that the request's class may fill. */
  readonly limit: number;
  /** Whether this policy lets the request pass. A request is charged only if all of its policies do. */
  readonly allowed: boolean;
  /** Requests of cost 1 that would pass now, after this one (leaky bucket: free waiting places). 0 to `limit`. */
  readonly remaining: number;
  /** Milliseconds until all of the limit is available again, if nothing else happens. Not rounded. */
  readonly resetAfterMs: number;
  /**
   * Milliseconds after which the same request passes, if nothing else happens; 0 when allowed, null when it never passes.
   *
   * It never passes when its cost exceeds the limit, which may be 0, or when an override blocks the client without an end. Just before the
   * instant it is rejected. Not rounded: microseconds / 1000. At most 1,000 for a concurrency, and for a rejection that only unsettled charges of this
   * process cause (`estimated`): the requests that hold the limit may end at any time.
   */
  readonly retryAfterMs: number | null;
  /** Milliseconds that the request waits for its departure slot. 0 except for a leaky bucket. */
  readonly delayMs: number;
  /** The version of the override that was in force for the client; absent without one. */
  readonly override?: number;
  /** The plan whose numbers decided; absent where these are the policy's own. */
  readonly plan?: string;
  /** The class of the request; absent where the policy has no `priorities`. */
  readonly priority?: string;
  /**
   * Milliseconds for which `blockFor` still blocks the identity, also if this rejection began the block. Absent without a block.
   */
  readonly blockedForMs?: number;
  /**
   * The policy that the request does not fit, whose `else` led to this one. It has no decision of its own: this one stands in its
   * place. Absent for a policy that the request met first.
   */
  readonly insteadOf?: string;
  /**
   * Which of the durations of `blockFor` the block lasts: 1 for the first one. Absent without a block, and where `blockFor` is a
   * single duration.
   */
  readonly blockStep?: number;
  /**
   * True for an estimate, absent otherwise. Estimates are:
   * - a rejection that would not have happened without charges that are still open, because a reservation, a `settle` or a `countIf`
   *   has not settled them yet: `retryAfterMs` is at most 1,000 (docs/settling.md);
   * - a request that leaves nothing, and whose own charge may be refunded: `remaining` is 0;
   * - a request that prefetched tokens have paid (`prefetch`): `remaining` and `resetAfterMs` are of the store's last answer, and
   *   other processes may have been charged since.
   */
  readonly estimated?: true;
}

/**
 * The outcome for a request: of all of its policies, and of each.
 *
 * @example if (!decision.allowed) throw new RateLimitExceededException(decision);
 */
export interface Decision {
  /** True: every policy let the request pass and was charged. False: no policy was charged. */
  readonly allowed: boolean;
  /**
   * What decided: the store, or what stood in its place.
   *
   * `'prefetch'`: this process, with tokens that it had charged ahead of demand. `'local'`: this process, with its share of the limits, while the
   * store was unavailable. `'open'`: the policies' `onStoreFailure: 'open'`. `'override'`: overrides that need no store, which are `blocked`, or
   * `exempt` for all of the policies.
   */
  readonly decidedBy: 'store' | 'prefetch' | 'local' | 'open' | 'override';
  /**
   * The decisions on the policies, in their order, without those of which the client is exempt. `'local'` has only the policies that are decided
   * locally, `'open'` has none, and `'override'` has those that block the client.
   */
  readonly policies: readonly PolicyDecision[];
  /**
   * The decisions of the policies in shadow, in their order. `allowed` of the request's decision does not depend on them.
   * Absent without shadows. While the store is unavailable, shadows with `onStoreFailure: 'open'` or `'closed'` are left out.
   */
  readonly shadow?: readonly PolicyDecision[];
  /** Milliseconds: the longest of the rejecting policies; 0 when allowed, null when the request never passes. */
  readonly retryAfterMs: number | null;
  /** Milliseconds from the answer on that an allowed request waits for its departure slot. */
  readonly delayMs: number;
  /** The store's clock at the decision: milliseconds since 1970, with microseconds behind the point. */
  readonly decidedAtMs: number;
}
