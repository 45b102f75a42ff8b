import type { Monitor } from '../monitor.js';
import type { RateLimitStats } from '../stats.js';

/** A limiter whose figures are published. */
export interface MetricsSource {
  readonly limiter: { stats(): RateLimitStats };
  readonly monitor: Pick<Monitor, 'measured' | 'observe' | 'takeTimes'>;
}

/**
 * Publishes the figures of a limiter until the returned function is called. Limiters that are published in one place add up there,
 * and a limiter that is published twice counts once.
 *
 * @throws {RateLimitConfigError} when the place has something else under a name of the library
 */
export type Publish = (source: MetricsSource) => () => void;
