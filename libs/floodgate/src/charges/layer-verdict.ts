import type { ChargeVerdict, Verdict } from '../stores/store.js';
import type { LimiterUnavailableError } from './errors.js';
import type { PolicyCharge } from './policy-charge.js';

/**
 * What decided: what `Decision.decidedBy` says, and
 * - `'denial-cache'`: a rejection by the store that was still certain, so that the store was not asked (`decidedBy` is `'store'`)
 * - `'closed'`: the store could not decide and `onStoreFailure: 'closed'` answered 503
 */
export type DecisionSource = 'store' | 'prefetch' | 'denial-cache' | 'local' | 'open' | 'closed' | 'override';

/** How many charges overrides have changed: shadows are in neither of the first two. */
export interface OverriddenCounts {
  readonly changed: number;
  readonly exempt: number;
  readonly blocked: number;
}

/** A verdict on the charges of one request, and what it comes from. */
export interface LayerVerdict extends Verdict {
  readonly charges: readonly LayerChargeVerdict[];
  /** Default: the store. */
  readonly source?: DecisionSource;
  /** The charges with the numbers that decided, if overrides changed them: one for each charge, in the same order. */
  readonly asked?: readonly PolicyCharge[];
  /** What overrides have changed. */
  readonly overridden?: OverriddenCounts;
  /** Whether no other policy may let the request pass, by `else`: it is paused. */
  readonly isPaused?: boolean;
  /** The error that a request gets in place of a decision: its `source` is `'closed'`. */
  readonly unavailable?: LimiterUnavailableError;
}

const NOTHING = { allowed: true, remaining: 0, resetAfter: 0, retryAfter: 0, delay: 0 } as const;

/**
 * A verdict on one charge. Without `unasked` a state was asked about it. Otherwise:
 *
 * - `'override'`: an override exempts its client, or another charge's override blocks the request
 * - `'unavailable'`: it passed without being counted while the store was unavailable
 */
export interface LayerChargeVerdict extends ChargeVerdict {
  readonly unasked?: 'override' | 'unavailable';
}

export const UNASKED: LayerChargeVerdict = { ...NOTHING, unasked: 'override' };
export const UNCOUNTED: LayerChargeVerdict = { ...NOTHING, unasked: 'unavailable' };

/** The index in `asked` of each charge of a request; -1 if it was not asked. Both lists have the same order. */
export function placesAmong(all: readonly PolicyCharge[], asked: readonly PolicyCharge[]): readonly number[] {
  let next = 0;
  return all.map((charge) => (charge === asked[next] ? next++ : -1));
}

/**
 * The verdict some microseconds later, if nothing has happened since. The shortfall is left out: its level is outdated by then.
 */
export function later(given: ChargeVerdict, elapsed: number): ChargeVerdict {
  const { allowed, remaining, delay, blockedFor, blockStep, estimated, receipt } = given;
  const resetAfter = Math.max(0, given.resetAfter - elapsed);
  const retryAfter = Math.max(0, given.retryAfter - elapsed);
  // Written out, because every kept denial passes here and a spread costs more.
  if (estimated === undefined && receipt === undefined && blockStep === undefined) {
    return blockedFor === undefined
      ? { allowed, remaining, resetAfter, retryAfter, delay }
      : { allowed, remaining, resetAfter, retryAfter, delay, blockedFor: Math.max(0, blockedFor - elapsed) };
  }
  const { shortfall: _, ...verdict } = given;
  return {
    ...verdict,
    resetAfter,
    retryAfter,
    ...(blockedFor !== undefined && { blockedFor: Math.max(0, blockedFor - elapsed) }),
  };
}
