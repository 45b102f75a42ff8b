import { SCHEDULE_OPTIONS } from '../engine/calls/option-names.js';
import { readSchedule, type ScheduleOptions } from '../scheduling/schedule-options.js';
import type { Identity } from '../identity/identity.js';
import { DEFAULT_IPV6_PREFIX } from '../identity/address.js';
import { tagFor } from '../identity/identity-tag.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import { type Duration, durationToMilliseconds } from '../util/duration.js';
import { notLimiter } from '../util/given-limiter.js';
import { checkNames, hasMethods, type OptionRule, readOption } from '../util/option-rules.js';

/** The options of `limitedFetch` and `limitedAxios`, beside those of `RateLimiter.schedule`. */
export interface OutgoingOptions<Request, Response> extends Omit<ScheduleOptions<Response>, 'signal' | 'until'> {
  /**
   * The identity that the policies count, or a function of the request; null where all policies are `by: 'global'`. Default null.
   *
   * @example identity: { kind: 'account', value: 'eu-1' }
   */
  readonly identity?: (Identity | null | ((request: Request) => Identity | null)) | undefined;
  /** Whether an answer that says that nothing remains pauses as well, before any rejection; default true. */
  readonly preemptive?: boolean | undefined;
  /**
   * The longest pause: milliseconds, or text such as `'5m'`, from 1 ms; default `'1h'`. An answer that says more pauses for as
   * long, and the next call asks again.
   */
  readonly maxPause?: Duration | undefined;
}

/** The options, checked; what is left is for `RateLimiter.schedule`. */
export interface CheckedOutgoing<Request, Response> {
  readonly identityOf: (request: Request) => Identity | null;
  readonly preemptive: boolean;
  readonly maxPauseMs: number;
  readonly schedule: ScheduleOptions<Response>;
}

const OUTGOING = ['identity', 'preemptive', 'maxPause'];
const RULES = {
  preemptive: { default: true, valid: (value) => typeof value === 'boolean', wanted: 'true or false' },
  maxPause: {
    default: '1h',
    valid: (value) => (durationToMilliseconds(value) ?? 0) >= 1,
    wanted: "a duration from '1ms', such as '5m'",
    read: durationToMilliseconds,
  },
} as const satisfies Record<string, OptionRule>;

/**
 * @param where how an error begins
 * @throws {RateLimitConfigError} for a limiter or an option that is wrong
 */
export function readOutgoing<Request, Response>(
  limiter: unknown,
  given: OutgoingOptions<Request, Response>,
  where: string,
): CheckedOutgoing<Request, Response> {
  if (!hasMethods(limiter, ['schedule', 'pause'])) throw new RateLimitConfigError(where, notLimiter(limiter));
  if (typeof given !== 'object' || given === null) {
    throw new RateLimitConfigError(where, `options must be an object, got ${shown(given)}`);
  }
  const { signal, until } = given as { readonly signal?: unknown; readonly until?: unknown };
  if (signal !== undefined || until !== undefined) {
    const problem =
      signal === undefined
        ? 'until has no effect here: a place is held until the body of the answer has ended'
        : 'signal has no effect here: give it with each request';
    throw new RateLimitConfigError(where, problem, 'FG_OPTION_WITHOUT_EFFECT');
  }
  checkNames(given, [...OUTGOING, ...SCHEDULE_OPTIONS], where);
  const { identity = null, preemptive: _, maxPause: _max, ...schedule } = given;
  if (identity !== null && typeof identity !== 'function') tagFor(identity, where, DEFAULT_IPV6_PREFIX);
  readSchedule(schedule, where);
  return {
    identityOf: typeof identity === 'function' ? identity : () => identity,
    preemptive: readOption(given, 'preemptive', RULES.preemptive, where) as boolean,
    maxPauseMs: readOption(given, 'maxPause', RULES.maxPause, where) as number,
    schedule,
  };
}
