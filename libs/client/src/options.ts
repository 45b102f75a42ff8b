import { RateLimitConfigError, shown } from '../../floodgate/src/util/config-error.js';
import type { Duration } from '../../floodgate/src/util/duration.js';
import { checkNames, duration, type OptionRule, readOption, whole } from '../../floodgate/src/util/option-rules.js';
import { type ClientTime, LONGEST_TIMER_MS, platformTime } from './time.js';

/** A request as `partition` and `onWait` see it. */
export interface ClientRequest {
  /** In upper case. */
  readonly method: string;
  readonly url: URL;
  /** The value of a header of the request; undefined when the client sets none of this name. */
  readonly header: (name: string) => string | undefined;
}

/** A wait that begins. */
export interface ClientWait {
  readonly request: ClientRequest;
  /** Milliseconds until requests of this partition leave again; 0 when the request only waits for its turn. */
  readonly waitMs: number;
  /** Which attempt follows the wait: 1 before the first one. */
  readonly attempt: number;
  /** The status that asked to wait; undefined before the first attempt. */
  readonly status: number | undefined;
}

/** The options of `rateLimitFetch` and `rateLimitAxios`. */
export interface RateLimitClientOptions {
  /** How often a call sends its request at most, with the first time: a whole number from 1 to 100, default 5. */
  readonly maxAttempts?: number;
  /** How long a call waits at most, all its waits together: 0 to 2,147,483,647 whole milliseconds, default `'1m'`. */
  readonly maxWait?: Duration;
  /**
   * How far waits are spread, as a part of the wait: 0 to 1, default 0.1. A wait of 10 s ends after 10 to 11 s, never earlier. Each
   * further rejection in a row doubles the spread, beginning with the whole wait.
   */
  readonly jitter?: number;
  /** Whether requests wait as soon as a response says that nothing remains, before any rejection; default true. */
  readonly preemptive?: boolean;
  /**
   * Whether a 503 with `Retry-After` is retried for methods that are not idempotent, such as POST; default false. The server may
   * have done a part of the work.
   */
  readonly retryUnsafeOn503?: boolean;
  /**
   * Names the limit of a request: requests with the same text wait for each other. Default: the method, the origin, the path and
   * the `Authorization` header. Anything but text rejects the call with a `TypeError`.
   *
   * @example partition: ({ url }) => url.origin // the whole API has one limit
   */
  readonly partition?: (request: ClientRequest) => string;
  /**
   * Called when a request begins to wait; for logs and metrics. Default none. An error that it throws rejects the call. What it
   * returns is not waited for.
   */
  readonly onWait?: (wait: ClientWait) => void;
  /** The clock and the timers; default those of the platform. Tests inject their own. */
  readonly time?: ClientTime;
  /** A number from 0, below 1; default `Math.random`. Tests inject their own. */
  readonly random?: () => number;
}

/** The options with every default, `onWait` aside. */
export type CheckedClientOptions = Required<Omit<RateLimitClientOptions, 'onWait' | 'maxWait'>> &
  Pick<RateLimitClientOptions, 'onWait'> & { readonly maxWaitMs: number };

function functionRule(otherwise?: unknown): OptionRule {
  return { default: otherwise, valid: (value) => typeof value === 'function', wanted: 'a function' };
}

const FLAG = (otherwise: boolean): OptionRule => ({
  default: otherwise,
  valid: (value) => typeof value === 'boolean',
  wanted: 'true or false',
});

const OPTIONS: Readonly<Record<keyof RateLimitClientOptions, OptionRule>> = {
  maxAttempts: whole(5, 1, 100),
  maxWait: duration('1m', 0, LONGEST_TIMER_MS),
  jitter: {
    default: 0.1,
    valid: (value) => typeof value === 'number' && value >= 0 && value <= 1,
    wanted: 'a number from 0 to 1',
  },
  preemptive: FLAG(true),
  retryUnsafeOn503: FLAG(false),
  partition: functionRule(defaultPartition),
  onWait: functionRule(),
  time: {
    default: platformTime,
    valid: (value) => isTime(value),
    wanted: 'an object with the functions now, wallNow and setTimer',
  },
  random: functionRule(Math.random),
};

/**
 * @param where how an error message begins
 * @param extra options of one client alone: their names are known, and their values are not read
 * @throws {RateLimitConfigError} naming the option, what was given and what would be right
 */
export function checkClientOptions(
  options: RateLimitClientOptions,
  where: string,
  extra: readonly string[] = [],
): CheckedClientOptions {
  if (typeof options !== 'object' || options === null) {
    throw new RateLimitConfigError(where, `options must be an object, got ${shown(options)}`);
  }
  checkNames(options, [...Object.keys(OPTIONS), ...extra], where);
  const checked: Record<string, unknown> = {};
  for (const [option, rule] of Object.entries(OPTIONS)) checked[option] = readOption(options, option, rule, where);
  return { ...checked, maxWaitMs: checked['maxWait'] } as unknown as CheckedClientOptions;
}

/** Clients of one origin with other credentials are other clients for most limits. */
function defaultPartition({ method, url, header }: ClientRequest): string {
  return `${method} ${url.origin}${url.pathname}\n${header('authorization') ?? ''}`;
}

function isTime(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { now, wallNow, setTimer } = value as Record<string, unknown>;
  return [now, wallNow, setTimer].every((part) => typeof part === 'function');
}
