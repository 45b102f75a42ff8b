import { type Duration, durationToMicroseconds, shownDuration } from '../../../util/duration.js';
import { shown } from '../../../util/config-error.js';
import type { PolicyCharge } from '../../policy-charge.js';

/** What becomes of a reservation that nobody has settled in time: the reserved cost stays, all is refunded, or this is its final cost. */
export type AtExpiry = 'keep' | 'cancel' | number;

/** The options of `RateLimiter.reserve` that say when a reservation expires. */
export interface ExpiryOptions {
  readonly expires?: Duration | undefined;
  readonly atExpiry?: AtExpiry | undefined;
}

/** When a reservation expires, and its final cost then. */
export interface Expiry {
  /** Microseconds from the reservation on. */
  readonly after: number;
  /** Undefined: the reserved cost. */
  readonly finalCost: number | undefined;
}

const LONGEST_MS = 7 * 86_400_000;
const MICROSECONDS = 1000;

/**
 * Reads the options; undefined where a reservation does not expire.
 *
 * @param where how errors begin
 * @throws {TypeError} for a wrong option, or one without effect
 */
export function readExpiry({ expires, atExpiry = 'keep' }: ExpiryOptions, where: string): Expiry | undefined {
  if (expires === undefined) {
    if (atExpiry === 'keep') return undefined;
    throw new TypeError(
      `${where}: atExpiry has no effect without expires, such as { expires: '60s', atExpiry: 'cancel' }`,
    );
  }
  const after = durationToMicroseconds(expires);
  if (after === undefined || after < MICROSECONDS || after > LONGEST_MS * MICROSECONDS) {
    const most = shownDuration(LONGEST_MS);
    throw new TypeError(
      `${where}: expires must be a duration from '1ms' to ${most}, such as '60s', got ${shown(expires)}`,
    );
  }
  const finalCost = atExpiry === 'cancel' ? 0 : atExpiry;
  if (finalCost === 'keep') return { after, finalCost: undefined };
  if (!Number.isSafeInteger(finalCost) || finalCost < 0) {
    throw new TypeError(`${where}: atExpiry must be 'keep', 'cancel' or a whole number from 0, got ${shown(atExpiry)}`);
  }
  return { after, finalCost };
}

/**
 * Checks that an expiry charges nothing: after a crash nobody could say what it was for.
 *
 * @param where how the error begins
 * @throws {TypeError} when it would
 */
export function checkExpiryCost({ finalCost = 0 }: Expiry, charges: readonly PolicyCharge[], where: string): void {
  for (const { cost, policy } of charges) {
    if (finalCost <= cost) continue;
    throw new TypeError(
      `${where}: atExpiry must be at most the reserved cost, which is ${cost} for policy '${policy.name}', got ${finalCost}: reserve more`,
    );
  }
}
