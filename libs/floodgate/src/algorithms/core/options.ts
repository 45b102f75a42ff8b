import type { Algorithm } from './algorithm.js';
import { durationToMicroseconds, meantInSeconds, MINUTE_OR_MONTH } from '../../util/duration.js';
import { exactRate, type ExactRate } from './rate.js';
import { shown } from '../../util/config-error.js';

/** Reads the options of one policy. Each method throws an error that names the option, its value and what would be right. */
export interface OptionReader {
  /** A whole number from 1 to `max`; from 0 for the numbers of a plan or an override. */
  readonly whole: (option: string, max: number) => number;
  /** The option as `read` converts it; undefined from `read` means that the value is wrong. */
  readonly value: <T>(option: string, read: (given: unknown) => T | undefined, wanted: string) => T;
  /** Whether the algorithm's windows can be those of a calendar, for messages. Default false. */
  readonly takesCalendars?: boolean;
  /** Adds a message that an operator sees at boot. */
  readonly warn: (message: string) => void;
}

/** A problem with a member of an option, or another way to write it. Its message names the given value itself. */
export class OptionProblem extends TypeError {}

/** One algorithm as a policy names it: the line of the list in `algorithms.ts`. */
export interface AlgorithmDefinition {
  /** The name in `algorithm: 'token-bucket'`, and of the file in `lua/algorithms/`. */
  readonly name: string;
  /** The options in addition to those of every policy. */
  readonly options: readonly string[];
  /** Whether its charges are leases. Default false. */
  readonly leases?: boolean;
  /** Checks the options and makes the algorithm. */
  readonly create: (options: OptionReader) => Algorithm;
  /**
   * Makes the algorithm again from its `limit` and its `rate`, for a process that settles what another one has charged; undefined for a
   * rate that it cannot have written. Without it, a reservation that expires is settled by its own process alone.
   */
  readonly ofRate?: (limit: number, rate: string) => Algorithm | undefined;
  /** Makes the variant whose pods prefetch tokens for `length` microseconds. Without it a policy has no prefetch. */
  readonly withPrefetch?: (algorithm: Algorithm, length: number) => Algorithm;
  /** Why there is no `withPrefetch`, as in `prefetch is not for a leaky-bucket: <why>`. */
  readonly whyNoPrefetch?: string;
}

/** The largest capacity or limit. */
export const MAX_COUNT = 1_000_000_000_000;

const HUNDRED_YEARS = 3_155_760_000_000_000;
/** The longest window that is counted until the end of the next one: so that instants stay below 2^53. */
export const FIFTY_YEARS = HUNDRED_YEARS / 2;
/** A plain number below this many milliseconds is probably meant in seconds. */
const SHORT_WINDOW_MS = 1_000;

/**
 * Reads a rate that a bucket of `places` tokens can count exactly; of a bucket without places, any rate. Warns if the rate had to be rounded down, and of a plain number that
 * fills the bucket within a second: `capacity: 20, refill: 100` mostly means 100 a minute.
 *
 * @throws what `options.value` throws
 */
export function readRate(options: OptionReader, option: string, places: number): ExactRate {
  const read = (given: unknown): ExactRate => {
    if (typeof given === 'number' && given >= places && places > 0) options.warn(perSecond(option, given));
    return exactRate(given, Math.max(1, places));
  };
  const rate = options.value(option, read, '');
  if (rate.rounded) {
    options.warn(
      `${option} is rounded down to ${rate.tokens} per ${rate.microseconds} microseconds, to be counted exactly`,
    );
  }
  return rate;
}

/**
 * Reads the option `window`: 1 ms to `most`, which is 100 years, and less where `weight` windows must be counted exactly. Warns of a plain
 * number below 1,000, because `window: 60` mostly means 60 seconds.
 *
 * @param most microseconds
 * @returns whole microseconds
 * @throws what `options.value` throws
 */
export function readWindow(options: OptionReader, weight: number, most = HUNDRED_YEARS): number {
  const longest = Math.min(most, Math.floor(2 ** 52 / weight));
  const wanted = `milliseconds or a duration such as '1m', from 1 ms to ${Math.floor(longest / 1000)} ms`;
  const read = (given: unknown): number | undefined => {
    const window = durationToMicroseconds(given);
    if (window === undefined) throwIfOfCalendar(given, options.takesCalendars === true, wanted);
    if (window === undefined || window < 1000 || window > longest) return undefined;
    const short = meantInSeconds('window', given, SHORT_WINDOW_MS);
    if (short !== undefined) options.warn(short);
    return window;
  };
  return options.value('window', read, wanted);
}

/** The window that an algorithm has as its rate, in microseconds; undefined for another rate, and where `weight` of them are too long. */
export function windowOfRate(rate: string, weight: number, most = HUNDRED_YEARS): number | undefined {
  const window = /^\d{1,16}$/.test(rate) ? Number(rate) : 0;
  return window >= 1 && window <= Math.min(most, Math.floor(2 ** 52 / weight)) ? window : undefined;
}

/** A month has no length of its own, and a window of days that begin at midnight is no duration. */
const OF_CALENDAR =
  /^\s*(?:\d+|an?|per|each|every)?[\s-]*(?:mo|months?|monthly|daily|weekly|calendar[\s-]*(?:day|week|month)s?)\s*$/i;

/** @throws {OptionProblem} for a window of a calendar, or text that means one */
function throwIfOfCalendar(given: unknown, takesCalendars: boolean, wanted: string): void {
  const isText = typeof given === 'string' && given.length <= 100 && OF_CALENDAR.test(given);
  if (typeof given === 'object' && given !== null && 'calendar' in given) {
    throw new OptionProblem(`must be ${wanted}, got a calendar, which only a fixed-window takes`);
  }
  if (typeof given === 'string' && given.length <= 100 && MINUTE_OR_MONTH.test(given)) {
    throw new OptionProblem(
      `must be ${wanted}, got ${shown(given)}: '1m' is a minute, and { calendar: 'month' } of a fixed-window a month`,
    );
  }
  if (!isText) return;
  const unit = /mo/i.test(given) ? 'month' : /week/i.test(given) ? 'week' : 'day';
  const plain = { month: '30d', week: '7d', day: '24h' }[unit];
  const right = takesCalendars
    ? `{ calendar: '${unit}' } is a window that begins with the ${unit}, '${plain}' a duration`
    : `'${plain}' is a duration, and only a fixed-window takes { calendar: '${unit}' }`;
  throw new OptionProblem(`must be ${wanted}, got ${shown(given)}: ${right}`);
}

function perSecond(option: string, given: number): string {
  return `${option} is ${given} per second; for ${given} a minute write '${given}/m', for ${given} a second '${given}/s'`;
}
