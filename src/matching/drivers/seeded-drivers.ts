import { CENTER } from '../../geo/position.js';
import type { DriverPosition } from './driver-index.js';

const RADIUS_KM = 2;
const KM_PER_DEGREE = 111.195;
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5));

/** Places the same drivers at every start, evenly over a disk around `CENTER`, as a sunflower places its seeds. */
export function seededDrivers(count: number): DriverPosition[] {
  return Array.from({ length: count }, (_, i) => {
    const radius = (RADIUS_KM * Math.sqrt((i + 0.5) / count)) / KM_PER_DEGREE;
    const angle = i * GOLDEN_ANGLE;
    return {
      driverId: `driver-${String(i + 1).padStart(4, '0')}`,
      lat: CENTER.lat + radius * Math.cos(angle),
      lng: CENTER.lng + (radius * Math.sin(angle)) / Math.cos((CENTER.lat * Math.PI) / 180),
    };
  });
}
