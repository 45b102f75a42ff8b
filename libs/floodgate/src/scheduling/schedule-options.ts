import { RateLimitConfigError, shown } from '../util/config-error.js';
import type { CallOptions, LookOptions } from '../charges/call-options.js';
import { type CallCost, isByName } from '../charges/cost-by-name.js';
import { checkOptions, SCHEDULE_OPTIONS } from '../engine/calls/option-names.js';
import { type Duration, durationToMilliseconds } from '../util/duration.js';

/** Milliseconds that a call waits for its turn by default. */
export const DEFAULT_MAX_WAIT_MS = 60_000;

/** The options of `RateLimiter.schedule`. */
export interface ScheduleOptions<T = unknown> extends LookOptions {
  /**
   * What the call costs: a whole number from 1 to the largest cost that ever fits, charged before `fn` runs; or a function of its
   * result, which returns the final cost, a whole number from 0. Default the policy's own `cost`, else 1. A concurrency takes its
   * own `cost` of leases, unless all policies are one.
   *
   * An object has a cost for each policy that it names. The others are charged their default, and keep it where the function
   * returns an object. A concurrency that it names takes as many leases.
   *
   * If the function fails, or takes longer than the module's `deadline`, the reserved cost stays charged and a warning is logged.
   *
   * @example cost: ({ usage }) => usage.total_tokens
   */
  readonly cost?: (CallCost | ((result: T) => CallCost | Promise<CallCost>)) | undefined;
  /**
   * With a function `cost`: what is reserved before `fn` runs, a whole number from 1 to the largest cost that ever fits. Default
   * the policy's own `cost`, else 1. An object has that of each policy that it names.
   *
   * @example estimate: { tokens: 4_000 }
   */
  readonly estimate?: CallCost | undefined;
  /**
   * What the call still uses when it has ended, such as a body that is read later: its leases are held until the promise settles.
   * Gets the result, or undefined and what `fn` threw. Default none: leases are released when `fn` has ended.
   *
   * @example until: (answer) => finished(answer.stream)
   */
  readonly until?: (result: T | undefined, error: unknown) => PromiseLike<unknown> | undefined;
  /** Leaves the queue when it is aborted, and refunds what was charged. Once `fn` runs, only `fn` uses the signal. Default none. */
  readonly signal?: AbortSignal | undefined;
  /**
   * How long the call waits for its turn at most: milliseconds, or text such as `'5s'`, from 0; default `'1m'`. 0 does not wait:
   * the call runs at once or fails. Infinity waits for as long as it takes.
   */
  readonly maxWait?: Duration | undefined;
}

/** The options of a call that is scheduled, checked. */
export interface CheckedSchedule {
  readonly options: CallOptions | undefined;
  readonly costOf: ((result: never) => CallCost | Promise<CallCost>) | undefined;
  readonly until: ((result: never, error: unknown) => PromiseLike<unknown> | undefined) | undefined;
  readonly signal: AbortSignal | undefined;
  readonly maxWaitMs: number;
}

const WHERE = 'RateLimiter.schedule';
/** What a call without options gets. */
export const NO_SCHEDULE_OPTIONS: CheckedSchedule = {
  options: undefined,
  costOf: undefined,
  until: undefined,
  signal: undefined,
  maxWaitMs: DEFAULT_MAX_WAIT_MS,
};

/**
 * @param where how an error begins
 * @throws {RateLimitConfigError} for an option that is unknown, wrong or without effect
 */
export function readSchedule<T>(given: ScheduleOptions<T>, where = WHERE): CheckedSchedule {
  checkOptions(given, 'schedule', SCHEDULE_OPTIONS);
  const { cost, estimate, until, signal, maxWait = DEFAULT_MAX_WAIT_MS, ...charging } = given;
  const maxWaitMs = durationToMilliseconds(maxWait) ?? NaN;
  if (!(maxWaitMs >= 0)) {
    throw new RateLimitConfigError(
      where,
      `maxWait must be a duration from 0, such as '5s', or Infinity, got ${shown(maxWait)}`,
    );
  }
  if (signal !== undefined && !isSignal(signal)) {
    throw new RateLimitConfigError(where, `signal must be an AbortSignal, got ${shown(signal)}`);
  }
  if (until !== undefined && typeof until !== 'function') {
    throw new RateLimitConfigError(where, `until must be a function of the result, got ${shown(until)}`);
  }
  const costOf = typeof cost === 'function' ? cost : undefined;
  if (estimate !== undefined && costOf === undefined) {
    throw new RateLimitConfigError(
      where,
      `estimate has no effect without a cost that is a function of the result: give { cost: ${shown(estimate)} }`,
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
  const charged = costOf === undefined ? (cost as CallCost | undefined) : estimate;
  const option = costOf === undefined ? 'cost' : 'estimate';
  if (isByName(charged)) {
    for (const [name, one] of Object.entries(charged))
      checkCharged(one, `the ${option} of policy ${shown(name)}`, where);
  } else checkCharged(charged, option, where, costOf === undefined ? ', or a function of the result' : '');
  return { options: { ...charging, cost: charged }, costOf, until, signal, maxWaitMs };
}

/**
 * @param or what else is right
 * @throws {RateLimitConfigError} for anything but a whole number from 1: the call would run without a turn
 */
function checkCharged(cost: number | undefined, what: string, where: string, or = ''): void {
  if (cost === undefined || (Number.isSafeInteger(cost) && cost >= 1)) return;
  throw new RateLimitConfigError(where, `${what} must be a whole number from 1${or}, got ${shown(cost)}`);
}

function isSignal(signal: unknown): signal is AbortSignal {
  const { aborted, addEventListener } = (signal ?? {}) as Partial<AbortSignal>;
  return typeof aborted === 'boolean' && typeof addEventListener === 'function';
}
