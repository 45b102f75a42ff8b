import type { AlgorithmName } from '../../algorithms/core/algorithm.js';
import type { PolicyMode, PolicyNumbers } from '../../policy/policy.js';
import type { TableOverride, TableRoute } from './limit-table.js';

/** The override that is in force in this process. Its instants are ISO texts by the store's clock. */
export interface ExplainedOverride extends TableOverride {
  /** Whether the store's record of it is known: when, why and by whom it was set. If not, the next three are null. */
  readonly isComplete: boolean;
  readonly setAt: string | null;
  readonly reason: string | null;
  readonly author: string | null;
}

/** What is counted of an identity under one policy. */
export interface ExplainedLevel {
  /**
   * The policy's capacity or limit under plan and override, of which a class has its part; with `decidedBy: 'local'`, this
   * process's share of it.
   */
  readonly limit: number;
  /** `limit` less `remaining`. */
  readonly used: number;
  /** Requests of cost 1 that would pass now. */
  readonly remaining: number;
  /** Milliseconds until all of the limit is available again, if nothing else happens. */
  readonly resetAfterMs: number;
}

/** A block that stands, by `blockFor`. Its instants are ISO texts by the store's clock. */
export interface ExplainedBlock {
  /** The instant of the rejection that began it. */
  readonly since: string;
  /** When it ends by itself: rounded up to a millisecond. */
  readonly until: string;
  /** Which of the durations of `blockFor` it lasts, from 1. */
  readonly step: number;
}

/**
 * What a request would meet at a policy:
 * - `'passes'`
 * - `'rejected'`: the limit is used up
 * - `'blocked'`: an override rejects, or a block by `blockFor` (`block` says which)
 * - `'exempt'`: an override leaves the policy out
 * - `'runs-over'`: the limit is used up, and the policy that its `else` names takes the request: it is the next one in the list
 * - `'would-reject'`: the policy is in shadow, so the request passes; enforced, it would be rejected
 * - `'unavailable'`: the store does not answer, and `onStoreFailure: 'closed'` answers 503
 * - `'not-counted'`: the policy does not count identities of this kind
 */
export type ExplainedOutcome =
  'passes' | 'runs-over' | 'rejected' | 'blocked' | 'exempt' | 'would-reject' | 'unavailable' | 'not-counted';

/** One policy, as an identity finds it now. */
export interface PolicyExplanation {
  readonly policy: string;
  readonly algorithm: AlgorithmName;
  /** What the state belongs to, as in `ResetState.scope`. */
  readonly scope: string;
  /** `'shadow'`: it rejects no request. */
  readonly mode: PolicyMode;
  /** The numbers in force: the policy's own, or those of plan and override. */
  readonly numbers: PolicyNumbers;
  /**
   * Whether requests with such an identity are counted under it here. Null: a function decides by the request (`by`), so that it
   * cannot be known.
   */
  readonly counts: boolean | null;
  readonly outcome: ExplainedOutcome;
  /** Whether a request that takes `cost` would not pass now. False for a policy in shadow, and where it runs over. */
  readonly isRejected: boolean;
  /** The cost that was asked for: the policy's, or 1 where a function of the request says so. */
  readonly cost: number;
  /** Null where nothing was asked, or a block hides it: `'blocked'`, `'exempt'`, `'unavailable'`, `'not-counted'`, and `decidedBy: 'open'`. */
  readonly level: ExplainedLevel | null;
  /**
   * The plan whose numbers count; `name` is null for none, and for numbers that the look-up has answered. `isKnown` is false where this process has not asked for the client's
   * plan, and shows the module's fallback: another process may know another one. Null where the policy has no plans.
   */
  readonly plan: { readonly name: string | null; readonly isKnown: boolean } | null;
  /**
   * The time zone whose windows count. `isKnown` is false where this process has counted no request of the client, and shows UTC:
   * give `timeZone` then. Null where no function says the policy's time zone.
   */
  readonly timeZone: { readonly name: string; readonly isKnown: boolean } | null;
  /**
   * The class whose part of the limit is shown: that of the call, else the policy's own; the first one where a function of the
   * request says it. Null where the policy has no `priorities`.
   */
  readonly priority: string | null;
  /** The policy whose `else` leads to this one; null for a policy that the request meets first. */
  readonly insteadOf: string | null;
  readonly override: ExplainedOverride | null;
  /** The block that stands, by `blockFor`; null without one. */
  readonly block: ExplainedBlock | null;
  /**
   * When the pause ends for which calls of `RateLimiter.schedule` wait: ISO text by the store's clock. Null: they are not paused, or the
   * store does not say.
   */
  readonly pausedUntil: string | null;
  /** The part that decides now, as in `Decision.decidedBy`; `'closed'` for `'unavailable'`, null for `'not-counted'`. */
  readonly decidedBy: 'store' | 'local' | 'open' | 'closed' | 'override' | null;
  /**
   * Since when requests are rejected: known where an override or a block rejects them. A limit keeps no instant of a rejection, so
   * it is null for `'rejected'`.
   */
  readonly rejectedSince: string | null;
  /**
   * Milliseconds until a request passes; 0: it passes now. Null: never, or not known. For a policy in shadow: until it would
   * let one pass.
   */
  readonly retryAfterMs: number | null;
  /**
   * The instant at which a request passes, if nothing else happens: ISO text by the store's clock, rounded up to a millisecond.
   */
  readonly passesAt: string | null;
}

/** Why an identity is rejected, or is not. Plain data that can be serialised. */
export interface LimitExplanation {
  /** The identity's tag: an API key is a hash in it. */
  readonly identity: string;
  /** The instant of the answer by the store's clock, as ISO text. */
  readonly at: string;
  /** The route that was asked for; null for all policies. */
  readonly route: Pick<TableRoute, 'context' | 'handler' | 'route' | 'origin' | 'guarded' | 'chosen'> | null;
  /** Whether one of the policies rejects. */
  readonly isRejected: boolean;
  /**
   * The next instant at which none of the policies rejects, if nothing else happens; `at` where none does now. Null: never, or
   * not known.
   */
  readonly passesAt: string | null;
  /** Rejecting policies come first. Otherwise the order is that of charging: `middleware` before the route. */
  readonly policies: readonly PolicyExplanation[];
}
