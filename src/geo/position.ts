import { greatCircleDistance } from 'h3-js';

export interface Position {
  readonly lat: number;
  readonly lng: number;
}

/** Average speed in a city's traffic, pauses at lights included. */
const CITY_SPEED_KMH = 24;

export function distanceKm(from: Position, to: Position): number {
  return greatCircleDistance([from.lat, from.lng], [to.lat, to.lng], 'km');
}

export function distanceMetres(from: Position, to: Position): number {
  return toMetres(distanceKm(from, to));
}

export function toMetres(km: number): number {
  return Math.round(km * 1000);
}

/** How long a car takes for the distance, in whole seconds. */
export function travelSeconds(metres: number): number {
  return Math.ceil((metres * 3.6) / CITY_SPEED_KMH);
}
