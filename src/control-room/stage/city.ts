import { availableParallelism } from 'node:os';
import type { Configuration, MatchingConfiguration } from '../../config/configuration.js';
import { ATTEMPTS, MEAN_RETRY_MS, PATIENCE_MS, REQUESTS_PER_VISIT } from '../../../libs/riders/index.js';
import type { SurgeDescription } from './surge-tick.js';

/**
 * Requests per second and core that riders may want of each world: on eight cores that is the surge of the shipped city. A request
 * takes about 1 ms of CPU, with its share of the riders. Riders repeat what is not served, and there are two worlds and a browser.
 */
const MAX_DEMAND_PER_CORE = 50;

/** The demand of the surge as a multiple of what matching can serve, and that of the calm before it. */
const SURGE_DEMAND = 2.5;
const CALM_DEMAND = 0.5;

/** A free driver for every ride: trips are short and drivers many, so that matching is the only bottleneck. */
const DRIVERS = 2000;
const TRIP_MS = 10_000;

/** More riders than those who wait in the worst case, so that some are still outside. */
const SPARE_RIDERS = 1.25;

/** What a run needs to know of the city. */
export interface City extends Omit<SurgeDescription, 'seconds'> {
  /** Requests per second before the surge. */
  readonly calmDemand: number;
  /** Of a process of this city. */
  readonly configuration: Configuration;
}

/** The city of a configuration, divided so that this machine carries two of them. */
export function cityFor(configuration: Configuration, cores = availableParallelism()): City {
  const whole = capacityOf(configuration.matching);
  const scale = Math.max(1, Math.ceil((SURGE_DEMAND * whole) / (MAX_DEMAND_PER_CORE * cores)));
  // The number of workers is whole, so rounding changes it. The time of each worker makes up for that.
  const workers = Math.max(1, Math.round(configuration.matching.workers / scale));
  const serviceMs = Math.max(1, Math.round((1000 * workers * scale) / whole));
  // An ordinary service, whatever protects this process's own.
  const ordinary = { cancels: false, newestFirst: false };
  const matching = { ...configuration.matching, ...ordinary, url: undefined, workers, serviceMs };
  const capacity = capacityOf(matching);
  // Workers may take minutes for a request. A crowd without a demand would have no riders.
  const demand = Math.max(1, Math.round(SURGE_DEMAND * capacity));
  const limit = configuration.matchingLimit.perSecond / scale;
  // The longest visit of a rider whom matching does not serve.
  const visitMs = ATTEMPTS * (PATIENCE_MS + MEAN_RETRY_MS);
  return {
    cores,
    scale,
    riders: Math.ceil((SPARE_RIDERS * demand * visitMs) / (1000 * REQUESTS_PER_VISIT)),
    demand,
    calmDemand: CALM_DEMAND * capacity,
    capacity,
    limit,
    patienceMs: PATIENCE_MS,
    configuration: {
      ...configuration,
      port: 0,
      bind: '127.0.0.1',
      http: { ...configuration.http, shutdownGraceMs: 0 },
      databaseUrl: undefined,
      adminToken: undefined,
      rateLimit: 'on',
      controlRoom: 'off',
      pods: 1,
      matching: { ...matching, queue: Math.ceil(matching.queue / scale) },
      // As many as the workers begin at once: no request of the first burst waits.
      matchingLimit: { perSecond: limit, burst: workers },
      drivers: { ...configuration.drivers, seeded: DRIVERS },
      trips: { ...configuration.trips, durationMs: TRIP_MS },
    },
  };
}

/** Requests per second. A request that takes no time would make a city that no demand is too much for. */
function capacityOf({ workers, serviceMs }: Pick<MatchingConfiguration, 'workers' | 'serviceMs'>): number {
  return (1000 * workers) / Math.max(1, serviceMs);
}
