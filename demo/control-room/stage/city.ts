import { availableParallelism } from 'node:os';
import { ATTEMPTS, MEAN_RETRY_MS, PATIENCE_MS, REQUESTS_PER_VISIT, RIDES_PART } from '../../riders/index.js';
import { drawnOneOf } from './drawn-sample.js';
import type { SurgeDescription } from './surge-tick.js';

/**
 * Requests per second and core that riders may want of each world: on eight cores that is the surge of the shipped city. A request
 * takes about 1 ms of CPU, with its share of the riders. Riders repeat what is not served, and there are two worlds and a browser.
 */
const MAX_DEMAND_PER_CORE = 50;

/** The demand of the surge as a multiple of what matching can serve. */
const SURGE_DEMAND = 2.5;

/** More riders than those who wait in the worst case, so that some are still outside. */
const SPARE_RIDERS = 1.25;

/** A matching service, and the limit in front of it. */
export interface MatchingSize {
  readonly workers: number;
  /** The time that one worker takes for one request. */
  readonly serviceMs: number;
  /** Requests that may wait for a worker. */
  readonly queue: number;
  /** Requests per second that the limit lets through. */
  readonly limit: number;
}

/** The matching service of a world. */
export interface WorldSize extends MatchingSize {
  /** Requests that the limit lets through at once. */
  readonly burst: number;
}

/** What a run needs to know of the city. */
export interface City extends Omit<SurgeDescription, 'seconds' | 'dots'> {
  readonly world: WorldSize;
  /** One of so many requests for a ride is drawn, from 1. */
  readonly drawnOneOf: number;
}

/** The city of a matching service, divided so that this machine carries two of them. */
export function cityFor(shipped: MatchingSize, cores = availableParallelism()): City {
  const whole = capacityOf(shipped);
  const scale = Math.max(1, Math.ceil((SURGE_DEMAND * whole) / (MAX_DEMAND_PER_CORE * cores)));
  // The number of workers is whole, so rounding changes it. The time of each worker makes up for that.
  const workers = Math.max(1, Math.round(shipped.workers / scale));
  const serviceMs = Math.max(1, Math.round((1000 * workers * scale) / whole));
  const capacity = capacityOf({ workers, serviceMs });
  // Workers may take minutes for a request. A crowd without a demand would have no riders.
  const demand = Math.max(1, Math.round(SURGE_DEMAND * capacity));
  const limit = shipped.limit / scale;
  // The longest visit of a rider whom matching does not serve.
  const visitMs = ATTEMPTS * (PATIENCE_MS + MEAN_RETRY_MS);
  return {
    cores,
    scale,
    riders: Math.ceil((SPARE_RIDERS * demand * visitMs) / (1000 * REQUESTS_PER_VISIT)),
    demand,
    capacity,
    limit,
    // As many as there are workers, so that no request of the first burst waits.
    burst: workers,
    patienceMs: PATIENCE_MS,
    drawnOneOf: drawnOneOf(demand * RIDES_PART),
    world: { workers, serviceMs, queue: Math.ceil(shipped.queue / scale), limit, burst: workers },
  };
}

/** Requests per second. A request that takes no time would make a city that no demand is too much for. */
function capacityOf({ workers, serviceMs }: Pick<MatchingSize, 'workers' | 'serviceMs'>): number {
  return (1000 * workers) / Math.max(1, serviceMs);
}
