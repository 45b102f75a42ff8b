import { RateLimitConfigError, shown } from '../util/config-error.js';
import { type Duration, durationToMilliseconds, shownDuration } from '../util/duration.js';
import type { Clock } from './store.js';

/** The wall clock. Pods share it as well as NTP keeps it. */
export const wallClock: Clock = () => Date.now() * 1000;

/** Starts as the wall clock and never steps. One process needs no more. */
const { timeOrigin } = performance;
export const monotonicClock: Clock = () => Math.floor((timeOrigin + performance.now()) * 1000);

/** The largest `maxSkew` of a store, in milliseconds. */
export const MAX_SKEW_MS = 10_000;
/** Milliseconds that the clocks of pods may be apart by default. */
export const DEFAULT_SKEW_MS = 1000;
/** An instant this close to `Date.now()` is a count of milliseconds. As microseconds it would lie in January 1970. */
const MILLISECONDS_WITHIN = 1000;

/**
 * Checks a clock that the application gives to a store. Small instants are fine: a virtual clock may start at 0.
 *
 * @param where the store's name, for the message
 * @throws {RateLimitConfigError} when `clock` is not a function, or returns milliseconds
 */
export function checkClock(where: string, clock: unknown): Clock {
  if (typeof clock !== 'function') {
    throw new RateLimitConfigError(where, `clock must be a function that returns microseconds, got ${shown(clock)}`);
  }
  const read = clock as Clock;
  const now = Date.now();
  // While modules are loaded, a Worker of Cloudflare says 0.
  if (now !== 0 && Math.abs(read() - now) < MILLISECONDS_WITHIN) {
    throw new RateLimitConfigError(
      where,
      'clock must return microseconds since 1970, but returns milliseconds: multiply by 1000, as in () => Date.now() * 1000',
    );
  }
  return read;
}

/**
 * Checks `maxSkew` of a store, and returns it in microseconds.
 *
 * @param where the store's name, for the message
 * @throws {RateLimitConfigError} when it is not 0 to 10 s in whole microseconds
 */
export function checkMaxSkew(where: string, maxSkew: Duration): number {
  const milliseconds = durationToMilliseconds(maxSkew) ?? NaN;
  if (!(milliseconds >= 0 && milliseconds <= MAX_SKEW_MS && Number.isInteger(milliseconds * 1000))) {
    const most = shownDuration(MAX_SKEW_MS);
    throw new RateLimitConfigError(where, `maxSkew must be a duration from 0 to ${most}, got ${shown(maxSkew)}`);
  }
  return milliseconds * 1000;
}
