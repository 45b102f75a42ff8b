import { PATIENCE_MS } from '../../riders/rider.js';

/** A matching service, the limit before it, and the riders. */
export interface City {
  readonly workers: number;
  /** The time that a worker takes for one request. */
  readonly serviceMs: number;
  /** Requests that may wait for a worker; one more fails at once. */
  readonly queue: number;
  /** The token bucket before matching. */
  readonly limit: { readonly capacity: number; readonly refill: number };
  /** Requests per second. */
  readonly demand: number;
  /** How long the rush lasts. */
  readonly rushMs: number;
  /** How long a rider waits for an answer. */
  readonly patienceMs: number;
  /** What an answer takes beside the work: the network, the application and the decision. */
  readonly roundTripMs: number;
}

/**
 * A quarter of the application's city, as on a machine of two cores or so, with 2.5 times the riders that matching can serve. Its
 * queue takes whatever comes, as a process without a bound of its own does. The service's default bound, of five seconds, changes
 * what nobody is served by: errors come at once instead of after seconds.
 */
export const CITY: City = {
  workers: 2,
  serviceMs: 53,
  queue: Infinity,
  limit: { capacity: 2, refill: 25 },
  demand: (2.5 * 2 * 1000) / 53,
  rushMs: 12_000,
  patienceMs: PATIENCE_MS,
  roundTripMs: 3, // the mean 429 of a surge of real processes
};
