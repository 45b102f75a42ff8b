import { RateLimitConfigError, shown } from './config-error.js';
import { type Duration, durationToMilliseconds, shownDuration } from './duration.js';
import type { ErrorCode } from './error-codes.js';
import { didYouMean } from './nearest-name.js';

/** How an option is declared. */
export interface OptionRule {
  /** The value of an option that is not given. */
  readonly default: unknown;
  /** Whether a given value is right. */
  readonly valid: (value: unknown) => boolean;
  /** What would be right, as in `deadline must be <wanted>`. */
  readonly wanted: string;
  /** Describes a wrong value, for example which member of an array is wrong. Default: the value as `shown` shows it. */
  readonly got?: (value: unknown) => string | undefined;
  /** The values that are right, where they are few: a message suggests the nearest one. */
  readonly values?: readonly unknown[];
  /** Whether the option has no effect for a limiter without Redis. Default false. */
  readonly needsRedis?: boolean;
  /** Whether the value is a secret or contains one: only `given` answers it, so that no log of an object shows it. Default false. */
  readonly isSecret?: true;
  /** Plain numbers of a duration below these milliseconds are probably meant in seconds. Default 0. */
  readonly shortMs?: number;
  /** Converts a valid value, or the default, for example a duration to milliseconds. Default: no conversion. */
  readonly read?: (value: unknown) => unknown;
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const isFunction = (value: unknown): boolean => typeof value === 'function';
export const hasMethods = (value: unknown, methods: readonly string[]): boolean =>
  isObject(value) && methods.every((method) => isFunction(value[method]));

/** An option that is one of some values. */
export function oneOf<T>(values: readonly T[], otherwise: T | undefined): OptionRule {
  return {
    default: otherwise,
    valid: (value) => values.includes(value as T),
    wanted: `one of ${values.map(shown).join(', ')}`,
    values,
  };
}

/** An option that is a whole number. */
export function whole(otherwise: number, min: number, max = Number.MAX_SAFE_INTEGER): OptionRule {
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
  return {
    default: otherwise,
    valid: (value) => Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max,
    wanted: `a whole number ${range}`,
  };
}

/** How an option that is a duration is declared. It is read as milliseconds. */
export interface DurationRule extends OptionRule {
  readonly isDuration: true;
}

/** An option that is a duration of whole milliseconds, from `min` to `max` of them. */
export function duration(otherwise: Duration, min: number, max: number): DurationRule {
  return {
    isDuration: true,
    default: otherwise,
    valid: (value) => {
      const milliseconds = durationToMilliseconds(value);
      return Number.isSafeInteger(milliseconds) && milliseconds! >= min && milliseconds! <= max;
    },
    wanted: `a duration of whole milliseconds from ${shownDuration(min)} to ${shownDuration(max)}, as a number or as text with a unit`,
    read: durationToMilliseconds,
  };
}

/**
 * Names the first wrong member of an array, as in `7 at [1]`.
 *
 * @param wrong describes a wrong member; returns undefined for a right one
 */
export function wrongMember(
  wrong: (member: unknown, i: number, all: readonly unknown[]) => string | undefined,
): (value: unknown) => string | undefined {
  return (value) => {
    if (!Array.isArray(value)) return undefined;
    for (const [i, member] of value.entries()) {
      const problem = wrong(member, i, value);
      if (problem !== undefined) return `${problem} at [${i}]`;
    }
    return undefined;
  };
}

/**
 * The value of an option, or its default, as the rule reads it.
 *
 * @param where how the error message begins
 * @throws {RateLimitConfigError} when a given value is wrong
 */
export function readOption(given: object, option: string, rule: OptionRule, where: string, code?: ErrorCode): unknown {
  const value = (given as Readonly<Record<string, unknown>>)[option];
  const { read = (right: unknown) => right } = rule;
  if (value === undefined) return read(rule.default);
  if (rule.valid(value)) return read(value);
  const names = (rule.values ?? []).filter((one) => typeof one === 'string');
  const got = `, got ${rule.got?.(value) ?? shown(value)}${asGuess(didYouMean(value, names))}`;
  throw new RateLimitConfigError(where, `${option} must be ${rule.wanted}${got}`, code);
}

/** A guess as a sentence of its own, behind a message without a full stop. */
export function asGuess(guess: string): string {
  return guess === '' ? '' : `.${guess}`;
}

/** Options of other rate limiters for Node.js, each with the option that says the same here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  ttl: 'window',
  windowMs: 'window',
  duration: 'window',
  max: 'limit',
  points: 'limit',
  blockDuration: 'blockFor',
  keyGenerator: 'by',
  skip: 'skipIf',
  throttlers: 'policies',
};

/** The option of a name that another rate limiter has for it; undefined where this owner has no such option. */
export function optionElsewhere(name: string, known: readonly string[]): string | undefined {
  const here = Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name] : undefined;
  return here !== undefined && known.includes(here) ? here : undefined;
}

/**
 * Refuses options that are not known.
 *
 * @param of the owner of the options, as in `is not an option of token-bucket`; default none
 * @param placeOf says where an option belongs that another part has, as in `Give it to createLimiter`; default nowhere
 * @throws {RateLimitConfigError} with the nearest known name, and all of them
 */
export function checkNames(
  given: object,
  known: readonly string[],
  where: string,
  of = '',
  placeOf: (option: string) => string | undefined = () => undefined,
): void {
  for (const [option, value] of Object.entries(given)) {
    if (known.includes(option)) continue;
    const owner = of === '' ? '' : ` of ${of} (got ${shown(value)})`;
    const here = optionElsewhere(option, known);
    const place = placeOf(option) ?? (here && `Here it is ${here}`);
    const guess = place === undefined ? didYouMean(option, known, (name) => name) : ` ${place}.`;
    throw new RateLimitConfigError(
      where,
      `${shown(option)} is not an option${owner}.${guess} The options are ${known.join(', ')}`,
      'FG_UNKNOWN_OPTION',
    );
  }
}
