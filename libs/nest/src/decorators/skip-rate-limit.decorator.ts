import 'reflect-metadata';
import { RateLimitConfigError } from 'floodgate';
import { shown } from 'floodgate/internal';
import { decorate, expectParentheses } from './decorate.js';

/**
 * Leaves a handler, or all handlers of a class, unlimited: neither the class's policies nor the module's `defaults` apply.
 * `@RateLimit` on a method of a skipped class limits that method.
 *
 * With names, only these policies do not apply: of the module's `defaults` and, on a method, of its class. A name that no such
 * policy has stops the boot.
 *
 * @param names of policies; default all of them
 * @throws {RateLimitConfigError} without parentheses, for a name that is no text, and beside another rate limit decorator
 * @example
 * ```ts
 * \@Get('healthz')
 * \@SkipRateLimit()
 * health() {}
 *
 * \@Post('import')
 * \@SkipRateLimit('burst')
 * import() {}
 * ```
 */
export function SkipRateLimit(...names: string[]): ClassDecorator & MethodDecorator {
  expectParentheses('@SkipRateLimit', names, '@SkipRateLimit()');
  return decorate('@SkipRateLimit', (place) => {
    const wrong: unknown = names.find((name) => typeof name !== 'string');
    if (wrong === undefined && !names.includes(undefined as unknown as string)) {
      return { skips: names.length === 0 ? 'all' : Object.freeze(names) };
    }
    throw new RateLimitConfigError(
      place,
      `@SkipRateLimit takes names of policies, or nothing, got ${shown(wrong)}`,
      'FG_DECORATOR',
    );
  });
}
