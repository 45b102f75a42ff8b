import { Injectable } from '@nestjs/common';
import { distanceMetres } from '../geo/position.js';
import { zoneOf } from '../geo/zone.js';
import { SurgeFactors } from '../zones/surge-factors.js';
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
  constructor(private readonly surge: SurgeFactors) {}

  quote({ pickup, dropoff }: Itinerary): Quote {
    const zone = zoneOf(pickup);
    const metres = distanceMetres(pickup, dropoff);
    const surgeFactor = this.surge.of(zone);
    return { zone, metres, surgeFactor, fare: fareFor(metres, surgeFactor) };
  }
}
