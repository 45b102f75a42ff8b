/**
 * A configuration that cannot work: stops the application at boot. The message names the place, the option, what was given
 * and what would be right. For a policy that a function returns at run time it becomes a logged 500.
 */
export class RateLimitConfigError extends Error {
  override readonly name = 'RateLimitConfigError';

  /** @param place such as `RidesController.request, @RateLimit` */
  constructor(place: string, problem: string) {
    super(`${place}: ${problem}`);
  }
}

/** A value as it may stand in a message: short, and never the text of an object or a URL. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return value.length > 60 ? `'${value.slice(0, 57)}...'` : `'${value}'`;
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}
