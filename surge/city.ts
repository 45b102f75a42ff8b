import type { Bucket } from './figures/checks.js';

/** The matching service of a smaller city, and the limit that protects it. */
export interface City {
  readonly workers: number;
  readonly serviceMs: number;
  readonly limit: Bucket;
}

/** The application's defaults: MATCHING_WORKERS, MATCHING_SERVICE_MS, MATCHING_BURST and MATCHING_LIMIT. */
export const FULL_CITY: City = { workers: 17, serviceMs: 100, limit: { capacity: 60, refill: 150 } };

/** One rider's burst has to pass. */
const MIN_BURST = 20;

/**
 * Divides the full city by `scale`.
 *
 * The number of workers is whole, so rounding changes it. The time of each worker makes up for that: the requests per second
 * that all workers hold are divided exactly enough.
 */
export function cityOf(scale: number): City {
  const { workers: all, serviceMs, limit } = FULL_CITY;
  const workers = Math.max(1, Math.round(all / scale));
  return {
    workers,
    serviceMs: Math.round((serviceMs * workers * scale) / all),
    limit: { capacity: Math.max(MIN_BURST, Math.ceil(limit.capacity / scale)), refill: limit.refill / scale },
  };
}
