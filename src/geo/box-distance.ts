import { distanceKm, type Position } from './position.js';

const RADIANS = Math.PI / 180;
/** What rounding may take from a distance: a micrometre, and a billionth of it. */
const ROUNDING_KM = 1e-9;

/** Degrees; a side that is 180 and one that is -180 are the same line. */
export interface Box {
  readonly south: number;
  readonly north: number;
  readonly west: number;
  readonly east: number;
}

/**
 * A distance that nothing in the box is closer than, along great circles, over the antimeridian and the poles as well. The way
 * of geokdbush (ISC): the nearest point lies on the nearer of the two meridians that bound the box.
 */
export function distanceToBoxKm({ lat, lng }: Position, { south, north, west, east }: Box): number {
  if (lng >= west && lng <= east) {
    return lower(
      lat < south
        ? distanceKm({ lat, lng }, { lat: south, lng })
        : lat > north
          ? distanceKm({ lat, lng }, { lat: north, lng })
          : 0,
    );
  }
  const nearer = turn(lng, west) <= turn(lng, east) ? west : east;
  const cosTurn = Math.cos(turn(lng, nearer) * RADIANS);
  const sin = Math.sin(lat * RADIANS);
  const cos = Math.cos(lat * RADIANS) * cosTurn;
  // Beyond a quarter turn the nearest point of the meridian is a pole, and that of the box one of its corners.
  if (cos > 0) {
    const nearest = Math.atan2(sin, cos) / RADIANS;
    if (nearest > south && nearest < north) return lower(distanceKm({ lat, lng }, { lat: nearest, lng: nearer }));
  }
  const corner = (at: number): number => distanceKm({ lat, lng }, { lat: at, lng: nearer });
  return lower(Math.min(corner(south), corner(north)));
}

function lower(km: number): number {
  return Math.max(0, km * (1 - ROUNDING_KM) - ROUNDING_KM);
}

/** Degrees from one meridian to another, the shorter way. */
function turn(from: number, to: number): number {
  const degrees = Math.abs(from - to);
  return Math.min(degrees, 360 - degrees);
}
