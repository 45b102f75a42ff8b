import { RateLimitConfigError, shown } from '../../util/config-error.js';

/** The options of the methods of `RateLimiter` that charge. */
export const CHARGE_OPTIONS: readonly string[] = ['cost', 'plan', 'timeZone', 'priority'];

/** The options of `RateLimiter.schedule`: those of all methods that charge, and its own. */
export const SCHEDULE_OPTIONS: readonly string[] = [...CHARGE_OPTIONS, 'estimate', 'until', 'signal', 'maxWait'];

/**
 * Rejects unknown options: a misspelt `cost` would charge 1, and a misspelt `plan` would be ignored.
 *
 * @param example what would be right
 * @throws {RateLimitConfigError} for an option that the method does not have
 */
export function checkOptions(
  options: object,
  method: string,
  known: readonly string[],
  example = known.includes('cost') ? '{ cost: 2 }' : "{ plan: 'pro' }",
): void {
  if (typeof options !== 'object' || options === null) {
    throw new RateLimitConfigError(
      `RateLimiter.${method}`,
      `options must be an object such as ${example}, got ${shown(options)}`,
    );
  }
  for (const option in options) {
    if (known.includes(option)) continue;
    const all =
      known.length === 1
        ? `the only option is ${known[0]}`
        : `the options are ${known.slice(0, -1).join(', ')} and ${known.at(-1)}`;
    throw new RateLimitConfigError(
      `RateLimiter.${method}`,
      `${shown(option)} is not an option; ${all}`,
      'FG_UNKNOWN_OPTION',
    );
  }
}
