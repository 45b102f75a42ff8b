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
 * A quarter of the application's city, with about 2.5 times the riders that matching can serve, as in the control room. Its queue takes
 * whatever comes, as that of a process does by default. With the service's own bound, of five seconds, the same riders are served and
 * the same fail; about half of those who fail get an error at once.
 */
export const CITY: City = {
  workers: 2,
  serviceMs: 53,
  queue: Infinity,
  limit: { capacity: 2, refill: 35 }, // a little less than matching can serve
  demand: 94,
  rushMs: 12_000,
  patienceMs: PATIENCE_MS,
  roundTripMs: 3, // the mean 429 of a surge of real processes
};
