import { Injectable } from '@nestjs/common';
import { distanceMetres } from '../geo/position.js';
import { zoneOf } from '../geo/zone.js';
import { Matching } from '../matching/matching.js';
import { type Fare, fareFor } from './fare.js';
import type { Itinerary } from './itinerary.js';

export interface Quote {
  /** Where the ride begins: its surge is the one that is paid. */
  readonly zone: string;
  readonly metres: number;
  readonly surgeFactor: number;
  readonly fare: Fare;
}

@Injectable()
export class QuotesService {
  constructor(private readonly matching: Matching) {}

  /** What a ride would cost now. @throws MatchingUnavailableError */
  async quote(itinerary: Itinerary): Promise<Quote> {
    return this.quoteAt(await this.matching.surgeFactor(zoneOf(itinerary.pickup)), itinerary);
  }

  /** What it costs at a surge that is known. */
  quoteAt(surgeFactor: number, { pickup, dropoff }: Itinerary): Quote {
    const metres = distanceMetres(pickup, dropoff);
    return { zone: zoneOf(pickup), metres, surgeFactor, fare: fareFor(metres, surgeFactor) };
  }
}
