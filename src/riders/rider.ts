import { type Position, CENTER } from '../geo/position.js';
import { Random } from './random.js';

/** The routes that riders use: five rides to two fares to one map. */
export const ROUTES = ['rides', 'fares', 'nearby'] as const;
const SHARES: Readonly<Record<Route, number>> = { rides: 5, fares: 2, nearby: 1 };
const ALL_SHARES = 8;

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

/** A simulated rider. Their requests and pauses depend on the seed alone, not on the answers. */
export class Rider {
  readonly id: string;
  private readonly random: Random;

  constructor(seed: number, index: number) {
    this.id = `rider-${String(index + 1).padStart(5, '0')}`;
    this.random = new Random(seed, index);
  }

  /** The number of requests before the rider closes the app. */
  visit(): number {
    return this.random.whole(1, MAX_REQUESTS);
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
