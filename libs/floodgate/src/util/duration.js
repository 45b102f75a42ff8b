import ms from 'ms';
/** Converts a duration to milliseconds, which may be 0, negative or a fraction; undefined for anything else. */
export function durationToMilliseconds(duration) {
  const milliseconds = typeof duration === 'string' ? parse(duration) : duration;
  return typeof milliseconds === 'number' ? milliseconds : undefined;
}
/** Converts a duration to whole microseconds; undefined if it is not a positive number of them. */
export function durationToMicroseconds(duration) {
  const microseconds = (durationToMilliseconds(duration) ?? NaN) * 1000;
  return Number.isSafeInteger(microseconds) && microseconds > 0 ? microseconds : undefined;
}
const DAY_MS = 86_400_000;
/** A length of time as messages show it: `'7d'`, `'10s'`, `'50ms'`, `0`. */
export function shownDuration(milliseconds) {
  if (milliseconds === 0) return '0';
  if (milliseconds % DAY_MS === 0) return `'${milliseconds / DAY_MS}d'`;
  return milliseconds % 1000 === 0 ? `'${milliseconds / 1000}s'` : `'${milliseconds}ms'`;
}
/** `ms` reads a minute where others read a month. */
export const MINUTE_OR_MONTH = /^\s*[\d.]+\s*M\s*$/;
/** Characters that `ms` reads at most. */
const LONGEST_TEXT = 100;
/** `ms` multiplies doubles: `'2.01s'` is 2009.9999999999998 there. */
function exact(milliseconds) {
  const rounded = Math.round(milliseconds * 1000) / 1000;
  return Math.abs(milliseconds - rounded) <= Math.abs(milliseconds) * 2 * Number.EPSILON ? rounded : milliseconds;
}
function parse(text) {
  if (text.length > LONGEST_TEXT || MINUTE_OR_MONTH.test(text)) return undefined;
  try {
    return /^\s*-?[\d.]+\s*$/.test(text) ? undefined : exact(ms(text)); // '60' lacks a unit
  } catch {
    return undefined; // ms throws for empty text
  }
}
/**
 * What a plain number of milliseconds probably means, where it is that small: `window: 60` mostly means 60 seconds. Undefined where it is
 * no plain number, or not below `least`.
 *
 * @param option as messages name it
 */
export function meantInSeconds(option, given, least) {
  if (typeof given !== 'number' || given <= 0 || given >= least) return undefined;
  const milliseconds = (given * 1000).toLocaleString('en-US').replaceAll(',', '_');
  const seconds = given === 1 ? '1 second' : `${given} seconds`;
  return `${option} is ${given} ms; for ${seconds} write '${given}s' or ${milliseconds}, for ${given} ms write '${given}ms'`;
}
