import { RateLimitConfigError, shown } from '../../util/config-error.js';
import type { Duration } from '../../util/duration.js';
import { checkNames } from '../../util/option-rules.js';
import { checkClock, checkMaxSkew, DEFAULT_SKEW_MS, wallClock } from '../clock.js';
import type { Clock, RateLimitStore } from '../store.js';

export interface RedisStoreOptions {
  /**
   * The clock that decides: `'redis'` (default) the server's, so that the pods' clocks do not matter; `'app'` the wall clock of
   * each pod; or your own clock in microseconds since 1970, for tests.
   */
  clock?: 'redis' | 'app' | Clock | undefined;
  /**
   * How far the clocks of pods may be apart: milliseconds or text, 0 to `'10s'`, default `'1s'`. Has no effect with Redis's
   * clock. The limits then hold up to the skew.
   */
  maxSkew?: Duration | undefined;
}

/** The options, checked. */
export interface RedisStoreSettings {
  /** The clock that the script decides with; undefined: Redis's own. */
  readonly clock: Clock | undefined;
  /** Whether the clock is the wall clock of each pod. */
  readonly byPods: boolean;
  /** The largest difference of the clocks, in microseconds. */
  readonly maxSkew: number;
}

/**
 * @throws {RateLimitConfigError} for a wrong or unknown option
 */
export function readStoreOptions(options: RedisStoreOptions): RedisStoreSettings {
  checkNames(options, ['clock', 'maxSkew'], 'RedisStore');
  const { clock = 'redis', maxSkew = DEFAULT_SKEW_MS } = options;
  return {
    clock: clockOf(clock),
    byPods: clock === 'app',
    maxSkew: checkMaxSkew('RedisStore', maxSkew),
  };
}

/** A prefetch ends by the store's clock: those of pods may be apart. */
export function supportsOf({ byPods }: Pick<RedisStoreSettings, 'byPods'>): RateLimitStore['supports'] {
  return byPods ? ['shadow', 'block', 'headroom'] : ['shadow', 'block', 'headroom', 'prefetch'];
}

function clockOf(clock: NonNullable<RedisStoreOptions['clock']>): Clock | undefined {
  if (clock === 'redis') return undefined;
  if (clock === 'app') return wallClock;
  if (typeof clock === 'function') return checkClock('RedisStore', clock);
  throw new RateLimitConfigError('RedisStore', `clock must be 'redis', 'app' or a function, got ${shown(clock)}`);
}
