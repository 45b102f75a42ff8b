import type { Position } from '../geo/position.js';
import type { ItineraryDto } from './itinerary.dto.js';

export interface Itinerary {
  readonly pickup: Position;
  readonly dropoff: Position;
}

export function toItinerary({ pickup_lat, pickup_lng, dropoff_lat, dropoff_lng }: ItineraryDto): Itinerary {
  return { pickup: { lat: pickup_lat, lng: pickup_lng }, dropoff: { lat: dropoff_lat, lng: dropoff_lng } };
}
