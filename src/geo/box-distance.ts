import { distanceKm, type Position } from './position.js';

const RADIANS = Math.PI / 180;
/** The greatest rounding error of a distance: a micrometre, and a billionth of the distance. */
const ROUNDING_KM = 1e-9;

/** Sides in degrees. The meridians 180 and -180 are the same line. */
export interface Box {
  readonly south: number;
  readonly north: number;
  readonly west: number;
  readonly east: number;
}

/**
 * A lower bound of the distance from a position to any point of a box, along great circles, also over the antimeridian and the
 * poles.
 *
 * The method is that of geokdbush (ISC): the nearest point lies on the nearer of the two meridians that bound the box.
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
  // Beyond a quarter turn the nearest point of the meridian is a pole, and the nearest point of the box is a corner.
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

/** Degrees between two meridians, the shorter way. */
function turn(from: number, to: number): number {
  const degrees = Math.abs(from - to);
  return Math.min(degrees, 360 - degrees);
}
