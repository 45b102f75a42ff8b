import { shown } from './config-error.js';
import { isPromise } from './is-promise.js';
import { hasMethods } from './option-rules.js';

/** What an error says of a value in the place of a `RateLimiter`. */
export function notLimiter(given: unknown): string {
  const got = isPromise(given)
    ? 'a promise: await it'
    : hasMethods(given, ['consume'])
      ? 'one of another copy: of floodgate loaded by import and by require, each knows its own'
      : shown(given);
  return `takes a RateLimiter, which createLimiter returns, got ${got}`;
}
