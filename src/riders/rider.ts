import { type Position, CENTER } from '../geo/position.js';
import { Random } from './random.js';

/** What riders ask for, and how often each: five rides to two fares to one look at the map. */
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

/** Everybody stands within so many degrees of the garden, and wants to go somewhere in the city. */
const PICKUP_DEGREES = 0.01;
const DROPOFF_DEGREES = 0.05;
const MIN_WAIT_MS = 100;
const MAX_WAIT_MS = 300;
const MAX_REQUESTS = 3;

/** Requests of one visit, on average. */
export const REQUESTS_PER_VISIT = (1 + MAX_REQUESTS) / 2;

/** Somebody with the app. What a rider asks for, and when, is the same for the same seed, however the answers come. */
export class Rider {
  readonly id: string;
  private readonly random: Random;

  constructor(seed: number, index: number) {
    this.id = `rider-${String(index + 1).padStart(5, '0')}`;
    this.random = new Random(seed, index);
  }

  /** How many requests a rider sends before closing the app again. */
  visit(): number {
    return this.random.whole(1, MAX_REQUESTS);
  }

  next(): RiderRequest {
    let share = this.random.next() * ALL_SHARES;
    const route = ROUTES.find((each) => (share -= SHARES[each]) < 0) ?? 'nearby';
    return { route, riderId: this.id, pickup: this.around(PICKUP_DEGREES), dropoff: this.around(DROPOFF_DEGREES) };
  }

  /** Milliseconds from an answer to the next request. */
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
