import type { Fare } from '../fares/fare.js';
import type { Itinerary } from '../fares/itinerary.js';

export interface Trip extends Itinerary {
  readonly id: string;
  readonly riderId: string;
  readonly driverId: string;
  readonly metres: number;
  readonly fare: Fare;
  /** Milliseconds since the epoch, as is `endsAt`. A trip is over because that is past; nothing has to happen. */
  readonly startsAt: number;
  readonly endsAt: number;
}
