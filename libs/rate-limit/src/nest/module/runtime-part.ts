import type { RateLimitStats } from '../../metrics/stats.js';
import type { LimitableHandler } from '../boot/boot-checks.js';
import type { GuardCheck } from '../routes/known-handlers.js';
import type { RoutePolicies } from '../routes/route-policies.js';

/** What a part reads of the application as it starts. */
export interface Boot {
  readonly handlers: readonly LimitableHandler[];
  readonly routes: RoutePolicies;
  readonly isGuarded: GuardCheck;
}

/**
 * A feature as the runtime knows it: it starts and ends with the application, and has counters in `RateLimiter.stats`. A part has
 * those of these methods that it needs.
 */
export interface RuntimePart {
  /** Begins the work, once the store is connected. Warns if the feature can have no effect. */
  start?(boot: Boot): Promise<void> | void;
  /** Rejects what waits, and all that comes later: the server is about to close. */
  close?(): void;
  /** Ends what runs by itself. The last requests have ended. */
  stop?(): void;
  stats?(): Partial<RateLimitStats>;
}
