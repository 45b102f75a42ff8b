import { Injectable } from '@nestjs/common';
import { distanceMetres } from '../geo/position.js';
import { zoneOf } from '../geo/zone.js';
import { Matching } from '../matching/matching.js';
import { type Fare, fareFor } from './fare.js';
import type { Itinerary } from './itinerary.js';

export interface Quote {
  /** The zone of the pickup, whose surge factor applies. */
  readonly zone: string;
  readonly metres: number;
  readonly surgeFactor: number;
  readonly fare: Fare;
}

@Injectable()
export class QuotesService {
  constructor(private readonly matching: Matching) {}

  /**
   * The price of a ride now.
   *
   * @param gone aborted when the rider has left
   * @throws MatchingUnavailableError, or the reason of `gone`
   */
  async quote(itinerary: Itinerary, gone?: AbortSignal): Promise<Quote> {
    return this.quoteAt(await this.matching.surgeFactor(zoneOf(itinerary.pickup), gone), itinerary);
  }

  /** The price of a ride at a known surge factor. */
  quoteAt(surgeFactor: number, { pickup, dropoff }: Itinerary): Quote {
    const metres = distanceMetres(pickup, dropoff);
    return { zone: zoneOf(pickup), metres, surgeFactor, fare: fareFor(metres, surgeFactor) };
  }
}
