import 'reflect-metadata';
import { RateLimitConfigError } from 'floodgate';
import { checkNames, shown } from 'floodgate/internal';
import type { PolicySource } from '../types.js';
import { decorate, expectParentheses } from './decorate.js';
import type { KeptDefaults } from '../handlers/metadata.js';

/** The last argument of `@RateLimit`, after its policies. */
export interface RoutePolicyOptions {
  /**
   * What happens to the module's `defaults` on the handler:
   * - `'replace'` (default): the decorator's policies take their place
   * - `'keep'`: they count as well, in one step with the decorator's. A policy of the same name takes the place of that default
   */
  readonly defaults?: KeptDefaults | undefined;
}

/**
 * Limits a handler, or all handlers of a class: a route, a GraphQL resolver, a message handler. It takes policies, names of the
 * module's `policies`, uses of such a name with a class of its own, and functions that choose a policy for each request. Several policies are one atomic step: all of them
 * charge a request, or none.
 *
 * A method's decorator replaces that of its class, and the class's replaces the module's `defaults`. With `{ defaults: 'keep' }`
 * as the last argument the defaults stay.
 *
 * @example
 * ```ts
 * \@Post('request')
 * \@RateLimit(
 *   { name: 'burst', algorithm: 'token-bucket', capacity: 20, refill: 10 },
 *   { name: 'daily', by: 'api-key', algorithm: 'fixed-window', limit: 10_000, window: '24h' },
 * )
 * request() {}
 * ```
 * @throws {RateLimitConfigError} without parentheses, for a wrong option, and beside another rate limit decorator. The policies are
 *   checked at boot
 */
export function RateLimit(
  policy: PolicySource,
  ...more: readonly PolicySource[] | readonly [...PolicySource[], RoutePolicyOptions]
): ClassDecorator & MethodDecorator {
  const given = [policy, ...more];
  expectParentheses('@RateLimit', given, "@RateLimit('name') or @RateLimit({ algorithm, ... })");
  const last = given.at(-1)!;
  const options = isOptions(last) ? last : undefined;
  const policies = Object.freeze(options === undefined ? given : given.slice(0, -1)) as readonly PolicySource[];
  return decorate('@RateLimit', (place) => {
    if (options !== undefined) checkRouteOptions(options, policies, place);
    return { policies, ...(options?.defaults !== undefined && { defaults: options.defaults }) };
  });
}

function isOptions(given: PolicySource | RoutePolicyOptions): given is RoutePolicyOptions {
  return typeof given === 'object' && given !== null && 'defaults' in given && !('algorithm' in given);
}

function checkRouteOptions(options: RoutePolicyOptions, policies: readonly PolicySource[], place: string): void {
  checkNames(options, ['defaults'], `${place}, @RateLimit`);
  const { defaults } = options;
  if (defaults !== undefined && defaults !== 'keep' && defaults !== 'replace') {
    throw new RateLimitConfigError(
      `${place}, @RateLimit`,
      `defaults must be 'keep' or 'replace', got ${shown(defaults)}`,
    );
  }
  if (policies.length > 0) return;
  throw new RateLimitConfigError(
    `${place}, @RateLimit`,
    `needs a policy or a name in front of { defaults }: without a decorator the module's defaults stay as they are`,
    'FG_DECORATOR',
  );
}
