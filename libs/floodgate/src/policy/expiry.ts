import { RateLimitConfigError, shown } from '../util/config-error.js';
import { type Duration, durationToMicroseconds, shownDuration } from '../util/duration.js';
import type { OptionRule } from '../util/option-rules.js';
import { isWorker } from '../util/runtime.js';

/** The end of a reservation that was not settled in time: all is refunded, the reserved cost stays, or this is the final cost. */
export type AtExpiry = 'cancel' | 'keep' | number;

/** The options of `RateLimiter.reserve` that say when a reservation expires. */
export interface ExpiryOptions {
  /**
   * After which time: milliseconds, or text such as `'60s'`, from 1 ms to 7 days. Default: it never expires. It is settled then, by this
   * process or, if this process has died, by another one.
   */
  readonly expires?: Duration | undefined;
  /** What becomes of it then: `'cancel'` (default), `'keep'`, or its final cost: a whole number from 0 to the reserved cost. */
  readonly atExpiry?: AtExpiry | undefined;
}

/** When a reservation expires, and its final cost then. */
export interface Expiry {
  /** Microseconds from the reservation on. */
  readonly after: number;
  /** Undefined: the reserved cost. */
  readonly finalCost: number | undefined;
}

const NOT_IN_WORKERS =
  'expires is not for Cloudflare Workers, where no timer outlives its request: settle each reservation, and leave expires out';
const LONGEST_MS = 7 * 86_400_000;
const MICROSECONDS = 1000;
const WANTED_EXPIRES = `a duration from '1ms' to ${shownDuration(LONGEST_MS)}, such as '60s'`;

/** The microseconds of `expires`; undefined where it is wrong. */
function microsecondsOf(expires: unknown): number | undefined {
  const after = durationToMicroseconds(expires);
  return after !== undefined && after >= MICROSECONDS && after <= LONGEST_MS * MICROSECONDS ? after : undefined;
}

function isCost(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The option `expires` of a policy. It is read as microseconds. */
export const EXPIRES = {
  default: undefined,
  valid: (value) => microsecondsOf(value) !== undefined,
  wanted: WANTED_EXPIRES,
  read: (value) => microsecondsOf(value),
} as const satisfies OptionRule;

/** The option `atExpiry` of a policy. It is read as the final cost. */
export const AT_EXPIRY = {
  default: undefined,
  valid: (value) => value === 'cancel' || isCost(value),
  wanted: "'cancel', or the final cost as a whole number from 0 below the cost",
  read: (value) => (value === 'cancel' ? 0 : value),
} as const satisfies OptionRule;

/**
 * Reads the options of a reservation; undefined where it does not expire.
 *
 * @param where how errors begin
 * @throws {RateLimitConfigError} for a wrong option, or one without effect
 */
export function readExpiry({ expires, atExpiry }: ExpiryOptions, where: string): Expiry | undefined {
  if (expires === undefined) {
    if (atExpiry === undefined) return undefined;
    throw new RateLimitConfigError(
      where,
      `atExpiry has no effect without expires, such as { expires: '60s', atExpiry: 'cancel' }`,
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
  if (isWorker()) throw new RateLimitConfigError(where, NOT_IN_WORKERS);
  const after = microsecondsOf(expires);
  if (after === undefined)
    throw new RateLimitConfigError(where, `expires must be ${WANTED_EXPIRES}, got ${shown(expires)}`);
  const finalCost = atExpiry === undefined || atExpiry === 'cancel' ? 0 : atExpiry;
  if (finalCost === 'keep') return { after, finalCost: undefined };
  if (isCost(finalCost)) return { after, finalCost };
  throw new RateLimitConfigError(
    where,
    `atExpiry must be 'cancel', 'keep' or a whole number from 0, got ${shown(atExpiry)}`,
  );
}

/**
 * When the charges of a policy's requests expire; undefined where they do not.
 *
 * @param after what `expires` was read as
 * @param finalCost what `atExpiry` was read as
 * @param fail throws what is wrong
 */
export function expiryOf(
  { after, finalCost }: { readonly after: number | undefined; readonly finalCost: number | undefined },
  policy: { readonly cost: unknown; readonly isSettled: boolean },
  fail: (problem: string) => never,
): Expiry | undefined {
  if (after === undefined) {
    return finalCost === undefined
      ? undefined
      : fail(`atExpiry has no effect without expires: add expires, such as '60s'`);
  }
  if (isWorker()) return fail(NOT_IN_WORKERS);
  if (!policy.isSettled) return fail('expires has no effect without settle or countIf: other charges are final');
  const { cost } = policy;
  if (typeof cost === 'number' && finalCost !== undefined && finalCost >= cost) {
    return fail(`atExpiry must be below the cost, which is ${cost}, got ${finalCost}: nothing would be refunded`);
  }
  return { after, finalCost: finalCost ?? 0 };
}
