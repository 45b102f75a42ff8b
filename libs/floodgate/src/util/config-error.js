import { withHelp } from './error-codes.js';
/**
 * A configuration that cannot work, or a wrong argument of a call. It stops the boot; for a policy that a function returns at run
 * time it is a logged 500. The message names the place, the option, what was given and what would be right. It ends with a link to
 * the page of its `code`.
 */
export class RateLimitConfigError extends Error {
  code;
  name = 'RateLimitConfigError';
  /**
   * @param where such as `RidesController.request, @RateLimit`
   * @param code stable, with a section of its own in docs/errors.md
   */
  constructor(where, problem, code = 'FG_INVALID_OPTION', options) {
    super(withHelp(`${where}: ${problem}`, code), options);
    this.code = code;
  }
}
/** A value as a message shows it: short, and never the text of an object. */
export function shown(value) {
  if (typeof value === 'string') return value.length > 60 ? `'${value.slice(0, 57)}...'` : `'${value}'`;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return isArray(value) ? 'an array' : 'an object';
  return String(value);
}
/** The name of an object's member as a message shows it: short, and without quotes where it is a plain word. */
export function nameShown(name) {
  return /^\w{1,40}$/.test(name) ? name : shown(name);
}
/** `Array.isArray` throws for a revoked proxy, which counts as no array. */
function isArray(value) {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}
