import type { Algorithm } from '../../algorithms/algorithm.js';
import type { ChargeVerdict, Verdict } from '../../stores/store.js';

/** The clocks of this process and of the store run apart by less than the rest to 1. */
export const DRIFT = 0.998;
/** The part of a lease's time after which the next one is asked for. */
const RENEWED_AFTER = 0.7;
const MICROSECONDS = 1000;

/** What the store has leased to this process in one call. */
export interface Lease {
  /** The tokens that are left. */
  left: number;
  readonly granted: number;
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
 * @param length microseconds for which tokens are leased
 * @param cost what was charged, of a window
 * @param sentAt monotonic milliseconds at which the store was asked
 */
export function leaseOf(
  algorithm: Algorithm,
  { allowed, at, charges: [charge] }: Verdict,
  length: number,
  cost: number,
  sentAt: number,
): Lease | undefined {
  const granted = grantedBy(algorithm, allowed, charge!, cost);
  if (granted <= 0) return undefined;
  const resetAt = at + charge!.resetAfter;
  const lease = { left: granted, granted, at, resetAt, isOpen: true };
  if (algorithm.leasedFor === undefined) {
    const time = length / MICROSECONDS;
    return { ...lease, endsAt: sentAt + time * DRIFT, renewAt: sentAt + time * RENEWED_AFTER };
  }
  const left = algorithm.leasedFor(charge!.resetAfter) / MICROSECONDS;
  return { ...lease, endsAt: sentAt + left * DRIFT, renewAt: Infinity };
}

function grantedBy(algorithm: Algorithm, allowed: boolean, { receipt }: ChargeVerdict, cost: number): number {
  if (!allowed) return 0;
  return algorithm.leasedFor === undefined ? (receipt?.stamp?.[0] ?? 0) : cost;
}
