import 'reflect-metadata';
import type { PolicySource } from '../types.js';
import { decorate, expectParentheses } from './decorate.js';

/**
 * Limits a handler, or all handlers of a class: a route, a GraphQL resolver, a message handler. By a policy, by the name of one of
 * the module's `policies`, or by a function that chooses one for each request. Several policies are one atomic step: all of them charge a request, or none.
 *
 * A method's decorator replaces that of its class, and the class's replaces the module's `defaults`.
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
 * @throws {RateLimitConfigError} without parentheses, and beside another rate limit decorator. The policies are checked at boot
 */
export function RateLimit(policy: PolicySource, ...more: PolicySource[]): ClassDecorator & MethodDecorator {
  const sources = [policy, ...more];
  expectParentheses('@RateLimit', sources, "@RateLimit('name') or @RateLimit({ algorithm, ... })");
  return decorate('@RateLimit', Object.freeze(sources));
}
