import { readConfiguration } from '../config/read-configuration.js';
import type { Bucket } from './figures/checks.js';

/** The matching service of a smaller city, and the limit that protects it. */
export interface City {
  readonly workers: number;
  readonly serviceMs: number;
  readonly limit: Bucket;
}

/** One rider's burst has to pass. */
const MIN_BURST = 20;

/**
 * The application as it comes, divided. Workers are whole, and each takes as much less time as there are too few of them: what
 * they hold together is divided exactly enough.
 */
export function cityOf(scale: number): City {
  const { matching, matchingLimit } = readConfiguration({});
  const workers = Math.max(1, Math.round(matching.workers / scale));
  return {
    workers,
    serviceMs: Math.round((matching.serviceMs * workers * scale) / matching.workers),
    limit: {
      capacity: Math.max(MIN_BURST, Math.ceil(matchingLimit.burst / scale)),
      refill: matchingLimit.perSecond / scale,
    },
  };
}
