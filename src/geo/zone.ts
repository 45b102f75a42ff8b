import { getResolution, isValidCell, latLngToCell } from 'h3-js';
import type { Position } from './position.js';

/** Zones are H3 cells of about 5 square kilometres, the size of a neighbourhood. */
export const ZONE_RESOLUTION = 7;

export function zoneOf({ lat, lng }: Position): string {
  return latLngToCell(lat, lng, ZONE_RESOLUTION);
}

/** Whether a text is a zone in its canonical spelling. H3 accepts upper case, too, which would name the same zone twice. */
export function isZone(text: string): boolean {
  return /^[0-9a-f]{15}$/.test(text) && isValidCell(text) && getResolution(text) === ZONE_RESOLUTION;
}
