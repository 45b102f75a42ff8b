import { RateLimitConfigError } from 'floodgate';
import { traitsOf } from 'floodgate/internal-boot';
import { type ApplicationLike, runtimeOf } from './runtime-of.js';

/**
 * Forgets what the application's limits have counted, such as between two tests.
 *
 * @throws {RateLimitConfigError} when the application has no `RateLimitModule`, or its limits are not kept in the process: empty a test's
 *   Redis with `FLUSHDB`
 * @example beforeEach(() => resetLimits(app));
 */
export function resetLimits(app: ApplicationLike): void {
  const { store } = runtimeOf('resetLimits', app).parts;
  const { clear } = traitsOf(store);
  if (clear === undefined) {
    throw new RateLimitConfigError(
      'resetLimits',
      `the limits are kept in ${store.constructor?.name || 'a store of your own'}, not in this process: ` +
        `use overrideRateLimitStore(builder, clock), or empty the store yourself`,
    );
  }
  clear();
}
