import 'reflect-metadata';
import { decorate, expectParentheses } from './decorate.js';
import { SKIPPED } from './metadata.js';

/**
 * Leaves a handler, or all handlers of a class, unlimited: neither the class's policies nor the module's `defaults` apply.
 * `@RateLimit` on a method of a skipped class limits that method.
 *
 * @example
 * ```ts
 * \@Get('healthz')
 * \@SkipRateLimit()
 * health() {}
 * ```
 */
export function SkipRateLimit(...args: never[]): ClassDecorator & MethodDecorator {
  expectParentheses('@SkipRateLimit', args, '@SkipRateLimit()');
  return decorate('@SkipRateLimit', SKIPPED);
}
