import type { PolicySource } from '../types.js';
import type { MiddlewareOptions } from './module-options.js';

/** The module's `middleware`, parsed. */
export interface CheckedMiddleware {
  readonly policies: readonly PolicySource[];
  /** Undefined where the application does not say what is left out. */
  readonly except: readonly string[] | undefined;
}

/** A whole path: no query, no pattern, no parameter. */
const PATH = /^\/(?!.*(?:\*|\/:))[^?#\s]*$/;

/** What is wrong with an object of policies and paths, for a message; undefined where it is right. */
export function wrongMiddleware(
  given: object,
  wrongPolicies: (policies: unknown) => string | undefined,
): string | undefined {
  const { policies, except = [], ...more } = given as MiddlewareOptions;
  const [unknown] = Object.keys(more);
  if (unknown !== undefined) return `an object with '${unknown}'`;
  const problem = wrongPolicies(policies);
  if (problem !== undefined) return `policies that are ${problem}`;
  if (!Array.isArray(except)) return 'except that is no array';
  const wrong: unknown = except.find((path) => typeof path !== 'string' || !PATH.test(path));
  return wrong === undefined ? undefined : `except with ${typeof wrong === 'string' ? `'${wrong}'` : typeof wrong}`;
}

/** Parses a value that `wrongMiddleware` has passed. */
export function readMiddleware(given: readonly PolicySource[] | MiddlewareOptions): CheckedMiddleware {
  return 'policies' in given ? { except: undefined, ...given } : { policies: given, except: undefined };
}
