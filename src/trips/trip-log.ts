import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Configuration } from '../config/configuration.js';
import { Clock } from '../time/clock.js';
import type { Trip } from './trip.js';

/** The last trips of each rider. When all riders together have too many, those heard of longest ago are forgotten. */
@Injectable()
export class TripLog {
  private readonly byRider: LRUCache<string, readonly Trip[]>;
  private readonly keptPerRider: number;

  constructor(
    private readonly clock: Clock,
    { trips }: Configuration,
  ) {
    this.keptPerRider = Math.min(trips.keptPerRider, trips.kept);
    this.byRider = new LRUCache({ maxSize: trips.kept, sizeCalculation: ({ length }) => length });
  }

  record(trip: Trip): void {
    const earlier = this.byRider.get(trip.riderId) ?? [];
    this.byRider.set(trip.riderId, [trip, ...earlier.slice(0, this.keptPerRider - 1)]);
  }

  /** What the rider has ridden, the latest first; a trip under way is not part of it yet. */
  ridden(riderId: string, limit: number): Trip[] {
    const now = this.clock.now();
    const trips = this.byRider.get(riderId) ?? [];
    return trips.filter((trip) => trip.endsAt <= now).slice(0, limit);
  }
}
