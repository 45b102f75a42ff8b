import { Random } from './random.js';

export interface Position {
  readonly lat: number;
  readonly lng: number;
}

/** Madison Square Garden, the center of the simulated city. The sample places its drivers around it. */
export const CENTER: Position = { lat: 40.7505, lng: -73.9934 };

/** The routes that riders use: five rides to two fares to one map. */
export const ROUTES = ['rides', 'fares', 'nearby'] as const;
const SHARES: Readonly<Record<Route, number>> = { rides: 5, fares: 2, nearby: 1 };
const ALL_SHARES = 8;

/** The part of all requests that are for rides. */
export const RIDES_PART = SHARES.rides / ALL_SHARES;

export type Route = (typeof ROUTES)[number];

export interface RiderRequest {
  readonly route: Route;
  readonly riderId: string;
  readonly pickup: Position;
  readonly dropoff: Position;
}

/** Riders stand within this distance of the garden, and their destinations within the next. */
const PICKUP_DEGREES = 0.01;
const DROPOFF_DEGREES = 0.05;
const MIN_WAIT_MS = 100;
const MAX_WAIT_MS = 300;
const MAX_REQUESTS = 3;

/** The average number of requests in one visit. */
export const REQUESTS_PER_VISIT = (1 + MAX_REQUESTS) / 2;

/** How often a rider sends a request before they give up. */
export const ATTEMPTS = 3;

/** How long a rider waits for an answer, in milliseconds. */
export const PATIENCE_MS = 3000;

/** The mean time until a rider repeats a request that failed, in milliseconds. */
export const MEAN_RETRY_MS = 1000;
const MIN_RETRY_MS = 500;
const MAX_RETRY_MS = 1500;

/** Streams of the seed for the times of retries, which are as many as answers make necessary. */
const RETRY_STREAM = 4_000_000;

/** A request of a visit, and the pause before the next one, in milliseconds. */
export interface PlannedRequest {
  readonly request: RiderRequest;
  readonly pauseMs: number;
}

/** A simulated rider. What they want depends on the seed alone, not on the answers. */
export class Rider {
  readonly id: string;
  private readonly random: Random;
  private readonly retries: Random;

  constructor(seed: number, index: number) {
    this.id = `rider-${String(index + 1).padStart(5, '0')}`;
    this.random = new Random(seed, index);
    this.retries = new Random(seed, RETRY_STREAM + index);
  }

  /** The requests until the rider closes the app: one to three. */
  visit(): PlannedRequest[] {
    const count = this.random.whole(1, MAX_REQUESTS);
    return Array.from({ length: count }, () => ({ request: this.next(), pauseMs: this.pauseMs() }));
  }

  /**
   * Milliseconds until the rider repeats a request: after an error soon, after a 429 when `Retry-After` says.
   *
   * @param retryAfterMs when the limit admits the request; undefined: the answer did not say so
   */
  retryMs(retryAfterMs: number | undefined): number {
    if (retryAfterMs === undefined) return this.retries.between(MIN_RETRY_MS, MAX_RETRY_MS);
    // The header has whole seconds.
    return 1000 * Math.ceil(retryAfterMs / 1000) + this.retries.between(MIN_WAIT_MS, MAX_WAIT_MS);
  }

  next(): RiderRequest {
    let share = this.random.next() * ALL_SHARES;
    const route = ROUTES.find((each) => (share -= SHARES[each]) < 0) ?? 'nearby';
    return { route, riderId: this.id, pickup: this.around(PICKUP_DEGREES), dropoff: this.around(DROPOFF_DEGREES) };
  }

  /** Milliseconds between an answer and the next request. */
  pauseMs(): number {
    return this.random.between(MIN_WAIT_MS, MAX_WAIT_MS);
  }

  private around(degrees: number): Position {
    return {
      lat: CENTER.lat + this.random.between(-degrees, degrees),
      lng: CENTER.lng + this.random.between(-degrees, degrees),
    };
  }
}
