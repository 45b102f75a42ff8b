import type { RateLimiter } from './rate-limiter.js';
import type { LimiterOptions } from './limiter-options.js';

/**
 * Makes a limiter without a framework: for a script, a worker, or a server of your own. It decides as the one of `RateLimitModule`
 * does, and shares its states where both have the same Redis and `keyPrefix`.
 *
 * @param options all of them optional
 * @returns a limiter that is not connected: call `start` first, and `close` at the end
 * @throws {RateLimitConfigError} naming the option, what was given and what would be right
 * @example
 * ```ts
 * const limiter = await createLimiter({ redis: process.env.REDIS_URL, policies: { emails } });
 * await limiter.start();
 * const decision = await limiter.consume('emails', { kind: 'user', value: user.id });
 * await limiter.close();
 * ```
 */
export async function createLimiter(options: LimiterOptions = {}): Promise<RateLimiter> {
  const { openLimiter } = await import('./parts-alone.js');
  return openLimiter(options);
}
