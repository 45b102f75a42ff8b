/** Madison Square Garden, whose zone is `ZONE`, and the Empire State Building, 689 m away. */
export const GARDEN = { lat: 40.7505, lng: -73.9934 };
export const ZONE = '872a100d2ffffff';

export const ITINERARY = { pickup_lat: 40.7505, pickup_lng: -73.9934, dropoff_lat: 40.7484, dropoff_lng: -73.9857 };
export const RIDE = { rider_id: 'rider-1', ...ITINERARY };

/** Paris: no driver is within reach. */
export const ELSEWHERE = { ...RIDE, pickup_lat: 48.8566, pickup_lng: 2.3522 };
