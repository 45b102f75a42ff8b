import { RateLimitConfigError, shown } from './config-error.js';
import { durationToMilliseconds, shownDuration } from './duration.js';
import { didYouMean } from './nearest-name.js';
export const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
export const isFunction = (value) => typeof value === 'function';
export const hasMethods = (value, methods) => isObject(value) && methods.every((method) => isFunction(value[method]));
/** An option that is one of some values. */
export function oneOf(values, otherwise) {
  return {
    default: otherwise,
    valid: (value) => values.includes(value),
    wanted: `one of ${values.map(shown).join(', ')}`,
    values,
  };
}
/** An option that is a whole number. */
export function whole(otherwise, min, max = Number.MAX_SAFE_INTEGER) {
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
  return {
    default: otherwise,
    valid: (value) => Number.isSafeInteger(value) && value >= min && value <= max,
    wanted: `a whole number ${range}`,
  };
}
/** An option that is a duration of whole milliseconds, from `min` to `max` of them. */
export function duration(otherwise, min, max) {
  return {
    isDuration: true,
    default: otherwise,
    valid: (value) => {
      const milliseconds = durationToMilliseconds(value);
      return Number.isSafeInteger(milliseconds) && milliseconds >= min && milliseconds <= max;
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
export function wrongMember(wrong) {
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
export function readOption(given, option, rule, where, code) {
  const value = given[option];
  const { read = (right) => right } = rule;
  if (value === undefined) return read(rule.default);
  if (rule.valid(value)) return read(value);
  const names = (rule.values ?? []).filter((one) => typeof one === 'string');
  const got = `, got ${rule.got?.(value) ?? shown(value)}${asGuess(didYouMean(value, names))}`;
  throw new RateLimitConfigError(where, `${option} must be ${rule.wanted}${got}`, code);
}
/** A guess as a sentence of its own, behind a message without a full stop. */
export function asGuess(guess) {
  return guess === '' ? '' : `.${guess}`;
}
/** Options of other rate limiters for Node.js, each with the option that says the same here. */
const ELSEWHERE = {
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
export function optionElsewhere(name, known) {
  const here = Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name] : undefined;
  return here !== undefined && known.includes(here) ? here : undefined;
}
/**
 * Refuses options that are not known.
 *
 * @param of the owner of the options, as in `is not an option of token-bucket`; default none
 * @throws {RateLimitConfigError} with the nearest known name, and all of them
 */
export function checkNames(given, known, where, of = '') {
  for (const [option, value] of Object.entries(given)) {
    if (known.includes(option)) continue;
    const owner = of === '' ? '' : ` of ${of} (got ${shown(value)})`;
    const elsewhere = optionElsewhere(option, known);
    const guess = elsewhere === undefined ? didYouMean(option, known, (name) => name) : ` Here it is ${elsewhere}.`;
    throw new RateLimitConfigError(
      where,
      `${shown(option)} is not an option${owner}.${guess} The options are ${known.join(', ')}`,
      'FG_UNKNOWN_OPTION',
    );
  }
}
