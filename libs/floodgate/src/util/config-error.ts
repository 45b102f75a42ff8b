import { type ErrorCode, withHelp } from './error-codes.js';

/**
 * A configuration that cannot work, or a wrong argument of a call. It stops the boot; for a policy that a function returns at run
 * time it is a logged 500. The message names the place, the option, what was given and what would be right. It ends with a link to
 * the page of its `code`.
 *
 * @example if (error instanceof RateLimitConfigError) console.error(error.code, error.message);
 */
export class RateLimitConfigError extends Error {
  override readonly name = 'RateLimitConfigError';

  /**
   * @param where such as `RidesController.request, @RateLimit`
   * @param code stable, with a section of its own in docs/errors.md
   */
  constructor(
    where: string,
    problem: string,
    readonly code: ErrorCode = 'FG_INVALID_OPTION',
    options?: ErrorOptions,
  ) {
    super(withHelp(`${where}: ${problem}`, code), options);
  }
}

/** A value as a message shows it: short, and never the text of an object. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return value.length > 60 ? `'${value.slice(0, 57)}...'` : `'${value}'`;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return isArray(value) ? 'an array' : 'an object';
  return String(value);
}

/**
 * What a message says of a value that it must not show, because logs keep messages: of an identity, which may name a person or be an API
 * key, and of a secret.
 */
export function shapeOf(value: unknown): string {
  if (typeof value === 'string') return `a text of ${Buffer.byteLength(value)} bytes`;
  return value === undefined || value === null ? String(value) : `a value of type ${typeof value}`;
}

/** The name of an object's member as a message shows it: short, and without quotes where it is a plain word. */
export function nameShown(name: string): string {
  return /^\w{1,40}$/.test(name) ? name : shown(name);
}

/** `Array.isArray` throws for a revoked proxy, which counts as no array. */
function isArray(value: object): boolean {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}
