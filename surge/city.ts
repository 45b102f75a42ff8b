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

/** The places in matching's queue whose requests can be served within their patience. */
export function queueOf(city: City, patienceMs: number): number {
  return Math.max(1, Math.ceil((capacityOf(city) * patienceMs) / 1000));
}

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
