import type { Algorithm } from '../../algorithms/core/algorithm.js';
import type { ChargeVerdict, Verdict } from '../../stores/store.js';

/** The clocks of this process and of the store drift apart by at most 1 - DRIFT. */
export const DRIFT = 0.998;
/** How long before its end a prefetch is renewed: this part of its time, or this many times the last round trip. */
const LEAD = 0.05;
const ANSWERS = 3;
const MOST_LEAD = 0.5;
const MICROSECONDS = 1000;

/** The tokens that one call has charged ahead of demand. */
export interface PrefetchedTokens {
  /** The tokens that are left. */
  left: number;
  /** All tokens of the prefetch, except those that its heir took over. */
  granted: number;
  /** Tokens taken by requests that the store has not decided yet. */
  pending: number;
  /** The prefetch that inherits the remaining tokens. */
  heir?: PrefetchedTokens;
  /** The instant of the prefetch by the store's clock, in microseconds. */
  readonly at: number;
  /** `at` plus the verdict's `resetAfter`: identifies a window. */
  readonly resetAt: number;
  /** Monotonic milliseconds until which tokens may be used, and from which on the next prefetch is due. */
  readonly endsAt: number;
  readonly renewAt: number;
  /** Whether its tokens can be used and returned. False once it is settled. */
  isOpen: boolean;
}

/**
 * The prefetch that a call has brought; undefined if it brought none. Its time counts from sending: the store decided later, so
 * the prefetch lasts longer there.
 *
 * @param cost what was charged, of a window
 * @param sentAt monotonic milliseconds at which the store was asked
 * @param now monotonic milliseconds at which it answered
 */
export function tokensOf(
  { algorithm, length }: { readonly algorithm: Algorithm; readonly length: number },
  { allowed, at, charges: [charge] }: Verdict,
  cost: number,
  sentAt: number,
  now: number,
): PrefetchedTokens | undefined {
  const granted = grantedBy(algorithm, allowed, charge!, cost);
  if (granted <= 0) return undefined;
  const resetAt = at + charge!.resetAfter;
  const prefetch = { left: granted, granted, pending: 0, at, resetAt, isOpen: true };
  if (algorithm.prefetch?.kind !== 'charged') {
    const lead = Math.min(length * MOST_LEAD, Math.max(length * LEAD, (now - sentAt) * ANSWERS));
    const endsAt = sentAt + length * DRIFT;
    return { ...prefetch, endsAt, renewAt: endsAt - lead };
  }
  const left = algorithm.prefetch.usableFor(charge!.resetAfter) / MICROSECONDS;
  return { ...prefetch, endsAt: sentAt + left * DRIFT, renewAt: Infinity };
}

function grantedBy(algorithm: Algorithm, allowed: boolean, { receipt }: ChargeVerdict, cost: number): number {
  if (!allowed) return 0;
  return algorithm.prefetch?.kind === 'charged' ? cost : (receipt?.refundMarker?.[0] ?? 0);
}
