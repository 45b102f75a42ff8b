import 'reflect-metadata';
import type { PolicySource } from '../types.js';
import { decorate } from './decorate.js';

/**
 * Limits a route, or all routes of a controller: by a policy, by the name of one of the module's `policies`, or by a function
 * that chooses one for each request. Several are one atomic step: a request is charged by all of them or by none.
 *
 * A method's decorator stands in place of its class's, the class's in place of the module's `defaults`.
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
 * @throws {RateLimitConfigError} where it stands beside another one; what the policies say is checked at boot
 */
export function RateLimit(policy: PolicySource, ...more: PolicySource[]): ClassDecorator & MethodDecorator {
  return decorate('@RateLimit', Object.freeze([policy, ...more]));
}
