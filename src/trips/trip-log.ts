import { Injectable } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { LRUCache } from 'lru-cache';
import type { Configuration } from '../config/configuration.js';
import { Clock } from '../time/clock.js';
import type { Trip } from './trip.js';

/** The last trips of each rider. Beyond the limit for all riders it forgets the riders whose last trip is the oldest. */
@Injectable()
export class TripLog {
  private readonly byRider: LRUCache<string, readonly Trip[]>;
  private readonly keptPerRider: number;

  constructor(
    private readonly clock: Clock,
    config: ConfigService<Configuration, true>,
  ) {
    const trips = config.get('trips', { infer: true });
    this.keptPerRider = Math.min(trips.keptPerRider, trips.kept);
    this.byRider = new LRUCache({ maxSize: trips.kept, sizeCalculation: ({ length }) => length });
  }

  record(trip: Trip): void {
    const earlier = this.byRider.get(trip.riderId) ?? [];
    this.byRider.set(trip.riderId, [trip, ...earlier.slice(0, this.keptPerRider - 1)]);
  }

  /** The rider's finished trips, the latest first. */
  ridden(riderId: string, limit: number): Trip[] {
    const now = this.clock.now();
    const trips = this.byRider.get(riderId) ?? [];
    return trips.filter((trip) => trip.endsAt <= now).slice(0, limit);
  }
}
