export interface Position {
  readonly lat: number;
  readonly lng: number;
}

/** Madison Square Garden, the center of the simulated city. */
export const CENTER: Position = { lat: 40.7505, lng: -73.9934 };

/** The average speed in a city, including stops at traffic lights. */
const CITY_SPEED_KMH = 24;

/** The radius of the sphere on which H3 lays its cells. */
const EARTH_RADIUS_KM = 6371.007180918475;
const RADIANS = Math.PI / 180;

/** The distance along a great circle (haversine). It equals H3's own function, but saves the costly call into WebAssembly. */
export function distanceKm(from: Position, to: Position): number {
  const sinLat = Math.sin(((to.lat - from.lat) * RADIANS) / 2);
  const sinLng = Math.sin(((to.lng - from.lng) * RADIANS) / 2);
  const a = sinLat * sinLat + sinLng * sinLng * Math.cos(from.lat * RADIANS) * Math.cos(to.lat * RADIANS);
  return 2 * EARTH_RADIUS_KM * Math.atan2(Math.sqrt(a), Math.sqrt(1 - a));
}

export function distanceMetres(from: Position, to: Position): number {
  return toMetres(distanceKm(from, to));
}

export function toMetres(km: number): number {
  return Math.round(km * 1000);
}

/** The time that a car takes for the distance, in whole seconds. */
export function travelSeconds(metres: number): number {
  return Math.ceil((metres * 3.6) / CITY_SPEED_KMH);
}
