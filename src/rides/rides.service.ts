import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Itinerary } from '../fares/itinerary.js';
import { QuotesService } from '../fares/quotes.service.js';
import { zoneOf } from '../geo/zone.js';
import { type Match, Matching, MatchingUnavailableError } from '../matching/matching.js';
import { TripLog } from '../trips/trip-log.js';
import type { Trip } from '../trips/trip.js';
import { ZoneTraffic } from '../zones/zone-traffic.js';

export interface Ride {
  readonly trip: Trip;
  readonly driver: Match;
}

@Injectable()
export class RidesService {
  constructor(
    private readonly matching: Matching,
    private readonly quotes: QuotesService,
    private readonly trips: TripLog,
    private readonly traffic: ZoneTraffic,
  ) {}

  /**
   * Finds a driver and records the trip.
   *
   * @param gone aborted when the rider has left
   * @returns undefined when no driver is within reach
   * @throws MatchingUnavailableError, or the reason of `gone`
   */
  async request(riderId: string, itinerary: Itinerary, gone?: AbortSignal): Promise<Ride | undefined> {
    const driver = await this.findDriver(itinerary, gone);
    if (!driver) return undefined;
    const { driverId, claimedAt: startsAt, freeAt: endsAt, surgeFactor } = driver;
    const { metres, fare } = this.quotes.quoteAt(surgeFactor, itinerary);
    const trip: Trip = { id: randomUUID(), riderId, driverId, ...itinerary, metres, fare, startsAt, endsAt };
    this.trips.record(trip);
    return { trip, driver };
  }

  private async findDriver({ pickup }: Itinerary, gone: AbortSignal | undefined): Promise<Match | undefined> {
    const zone = zoneOf(pickup);
    this.traffic.count(zone, 'requests');
    try {
      const driver = await this.matching.match(pickup, gone);
      this.traffic.count(zone, driver ? 'matched' : 'no_driver');
      return driver;
    } catch (error) {
      if (error instanceof MatchingUnavailableError) this.traffic.count(zone, 'unavailable');
      throw error;
    }
  }
}
