import type { Algorithm } from '../../algorithms/algorithm.js';
import type { ChargeVerdict, Verdict } from '../../stores/store.js';

/** The clocks of this process and of the store run apart by less than the rest to 1. */
export const DRIFT = 0.998;
/** The next lease is asked for so long before the end: a part of the lease's time, or this many times what the last answer took. */
const LEAD = 0.05;
const ANSWERS = 3;
const MOST_LEAD = 0.5;
const MICROSECONDS = 1000;

/** What the store has leased to this process in one call. */
export interface Lease {
  /** The tokens that are left. */
  left: number;
  /** All of its tokens, but those that go on as another lease. */
  granted: number;
  /** Of the tokens that were taken: those of requests that the store has still to decide on. */
  pending: number;
  /** What the rest of it goes on as. */
  heir?: Lease;
  /** The instant of the lease by the store's clock, in microseconds. */
  readonly at: number;
  /** `at` plus the verdict's `resetAfter`: identifies a window. */
  readonly resetAt: number;
  /** Monotonic milliseconds until which tokens may be used, and from which on the next lease is due. */
  readonly endsAt: number;
  readonly renewAt: number;
  /** Whether its tokens can be used, and given back: until it is settled. */
  isOpen: boolean;
}

/**
 * The lease that a call has brought; undefined if it brought none. Time counts from sending: the store decided later, so its own
 * time of the lease is not over.
 *
 * @param cost what was charged, of a window
 * @param sentAt monotonic milliseconds at which the store was asked
 * @param now monotonic milliseconds at which it answered
 */
export function leaseOf(
  { algorithm, length }: { readonly algorithm: Algorithm; readonly length: number },
  { allowed, at, charges: [charge] }: Verdict,
  cost: number,
  sentAt: number,
  now: number,
): Lease | undefined {
  const granted = grantedBy(algorithm, allowed, charge!, cost);
  if (granted <= 0) return undefined;
  const resetAt = at + charge!.resetAfter;
  const lease = { left: granted, granted, pending: 0, at, resetAt, isOpen: true };
  if (algorithm.leasedFor === undefined) {
    const lead = Math.min(length * MOST_LEAD, Math.max(length * LEAD, (now - sentAt) * ANSWERS));
    const endsAt = sentAt + length * DRIFT;
    return { ...lease, endsAt, renewAt: endsAt - lead };
  }
  const left = algorithm.leasedFor(charge!.resetAfter) / MICROSECONDS;
  return { ...lease, endsAt: sentAt + left * DRIFT, renewAt: Infinity };
}

function grantedBy(algorithm: Algorithm, allowed: boolean, { receipt }: ChargeVerdict, cost: number): number {
  if (!allowed) return 0;
  return algorithm.leasedFor === undefined ? (receipt?.stamp?.[0] ?? 0) : cost;
}
