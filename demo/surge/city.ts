import type { Bucket } from './figures/checks.js';

/** The matching service of a smaller city, and the limit that protects it. */
export interface City {
  readonly workers: number;
  readonly serviceMs: number;
  /** Places in the queue of the matching service. */
  readonly queue: number;
  readonly limit: Bucket;
}

/**
 * The application's defaults: MATCHING_WORKERS, MATCHING_SERVICE_MS, MATCHING_QUEUE and MATCHING_LIMIT. The burst is as many
 * requests as the workers begin at once, so that no request of it waits.
 */
export const FULL_CITY: City = { workers: 6, serviceMs: 40, queue: 750, limit: { capacity: 6, refill: 100 } };

/** A surge of the full city keeps about three cores busy. Twice as many leave room for other processes. */
const FULL_CORES = 6;

/** What a machine of so many cores divides the full city by: 6 on one core, 3 on two, 2 on three, and 1 on four and more. */
export function scaleFor(cores: number): number {
  return Math.max(1, Math.floor(FULL_CORES / cores));
}

/** The requests per second that matching can serve. */
export function capacityOf({ workers, serviceMs }: City): number {
  return (1000 * workers) / serviceMs;
}

/**
 * Divides the full city by `scale`.
 *
 * The number of workers is whole, so rounding changes it. The time of each worker makes up for that: the requests per second
 * that all workers hold are divided exactly enough.
 */
export function cityOf(scale: number): City {
  const { workers: all, serviceMs, queue, limit } = FULL_CITY;
  const workers = Math.max(1, Math.round(all / scale));
  return {
    workers,
    serviceMs: Math.round((serviceMs * workers * scale) / all),
    queue: Math.ceil(queue / scale),
    limit: { capacity: workers, refill: limit.refill / scale },
  };
}
