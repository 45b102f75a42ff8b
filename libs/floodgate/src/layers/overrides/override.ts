import type { Duration } from '../../util/duration.js';
import type { Identity } from '../../identity/identity.js';
import type { PolicyNumbers } from '../../policy/policy.js';

/** What an override is about: one identity, or everyone, under one policy. */
export interface OverrideTarget {
  /** The policy's name. The override holds wherever a policy of this name stands. */
  readonly policy: string;
  /**
   * The identity, or its tag as `identityTag` and `RateLimitOverride.identity` have it. `'everyone'`: every client that the policy
   * counts, of any plan, apart from those with an override of their own. Without it the override is of a policy that counts all
   * clients together (`by: 'global'`), and such a policy takes none.
   */
  readonly identity?: Identity | string | undefined;
  /**
   * One place where the policy stands, as in `ResetState.scope`: `'POST /api/rides'`, a controller, or `'app'`. Default: all of
   * them. An override of one place goes before an override of all places, and one identity's own before both of everyone.
   */
  readonly scope?: string | undefined;
}

/**
 * What an override changes: some of the policy's numbers, or
 * - `exempt`: the policy does not count the client
 * - `blocked`: the policy rejects every request of the client, without asking the store
 */
export type OverrideChange =
  | (PolicyNumbers & { readonly exempt?: never; readonly blocked?: never })
  | {
      /** The policy does not count the client. */
      readonly exempt: true;
      readonly blocked?: never;
    }
  | {
      /** The policy rejects every request of the client, without asking the store. */
      readonly blocked: true;
      readonly exempt?: never;
    };

/** How `remove` is recorded, and when it is refused. */
export interface OverrideRemoval {
  /** Why: up to 500 characters, for `history`. Default none. */
  readonly reason?: string | undefined;
  /** The author of the change: up to 100 characters, for `history`. Default none. */
  readonly author?: string | undefined;
  /**
   * The version that the override must have: a whole number from 0; 0: there must be none. If another change came first, nothing
   * is changed and an `OverrideConflictError` names both versions. Default: whatever is there is replaced.
   */
  readonly ifVersion?: number | undefined;
}

export interface OverrideOptions extends OverrideRemoval {
  /**
   * When the override ends by itself: milliseconds, or text such as `'24h'`, from 1 s to 100 years. Default: when it is removed.
   */
  readonly expiresIn?: Duration | undefined;
}

/** An override that is in force. */
export interface RateLimitOverride {
  readonly policy: string;
  /** The identity's tag, such as `'user:rider-1'`, or `'everyone'`; undefined where the policy counts all clients together. */
  readonly identity: string | undefined;
  /** The one place where it holds; undefined: everywhere. */
  readonly scope: string | undefined;
  readonly change: OverrideChange;
  /** The version, for `ifVersion`. Grows with every change of any override. */
  readonly version: number;
  /** Milliseconds since 1970, by Redis's clock. */
  readonly setAtMs: number;
  /** Milliseconds since 1970, by Redis's clock; null: it does not end by itself. */
  readonly expiresAtMs: number | null;
  readonly reason: string | undefined;
  readonly author: string | undefined;
}

/** A change of an override. */
export interface OverrideHistoryEntry extends Omit<RateLimitOverride, 'change'> {
  readonly action: 'set' | 'removed';
  /** Undefined where the override was removed. */
  readonly change: OverrideChange | undefined;
}

/** A part of a list. */
export interface OverridePage<T> {
  readonly items: readonly T[];
  /** The start of the next page; undefined: this page is the last. */
  readonly cursor: string | undefined;
}

export interface OverridePageOptions {
  /** The start of the page: the `cursor` of the page before. Default: the first page. */
  readonly cursor?: string | undefined;
  /** Items on the page: a whole number from 1 to 1,000, default 100. */
  readonly limit?: number | undefined;
}
