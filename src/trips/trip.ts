import type { Fare } from '../fares/fare.js';
import type { Itinerary } from '../fares/itinerary.js';

export interface Trip extends Itinerary {
  readonly id: string;
  readonly riderId: string;
  readonly driverId: string;
  readonly metres: number;
  readonly fare: Fare;
  /** Milliseconds since 1970. */
  readonly startsAt: number;
  /** Milliseconds since 1970. A trip is over after this instant, without any event. */
  readonly endsAt: number;
}
