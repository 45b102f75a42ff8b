import { gridDisk, gridRing, latLngToCell } from 'h3-js';
import { distanceKm, type Position } from './position.js';

/** H3 resolution of the grid: hexagons about 0.9 km across, a few dozen drivers each on a busy night. */
const RESOLUTION = 8;

/**
 * What the edges of cells count as when rings are taken for distances, in km. They average 0.53, but the projection
 * shrinks and skews: measured from 14,000 points, many near the pentagons, rings came as close as edges of 0.388 would.
 */
const SHORTEST_EDGE_KM = 0.36;

export interface Found<T> {
  readonly item: T;
  readonly distanceKm: number;
}

/** Things with a position, kept by H3 cell so that those around a point are found without looking at all of them. */
export class CellGrid<T extends Position> {
  private readonly cells = new Map<string, Set<T>>();

  /** @returns the cell the item is now in, which is what `remove` wants back */
  add(item: T): string {
    const cell = cellAt(item);
    const items = this.cells.get(cell);
    if (items) items.add(item);
    else this.cells.set(cell, new Set([item]));
    return cell;
  }

  remove(item: T, cell: string): void {
    const items = this.cells.get(cell);
    items?.delete(item);
    if (items?.size === 0) this.cells.delete(cell);
  }

  /** The nearest item within the radius among those the caller accepts: rings outwards until no further one can win. */
  nearest(center: Position, radiusKm: number, accepts: (item: T) => boolean): Found<T> | undefined {
    const origin = cellAt(center);
    let best: Found<T> | undefined;
    let reachKm = radiusKm;
    for (let ring = 0; distanceToRingKm(ring) <= reachKm; ring++) {
      for (const found of this.around(center, gridRing(origin, ring), reachKm, accepts)) {
        if (best && found.distanceKm >= best.distanceKm) continue;
        best = found;
        reachKm = found.distanceKm;
      }
    }
    return best;
  }

  /** All items within the radius, in no particular order. */
  *within(center: Position, radiusKm: number): Generator<Found<T>> {
    let rings = 0;
    while (distanceToRingKm(rings + 1) <= radiusKm) rings++;
    yield* this.around(center, gridDisk(cellAt(center), rings), radiusKm);
  }

  private *around(
    center: Position,
    cells: readonly string[],
    radiusKm: number,
    accepts: (item: T) => boolean = () => true,
  ): Generator<Found<T>> {
    for (const cell of cells) {
      for (const item of this.cells.get(cell) ?? []) {
        if (!accepts(item)) continue;
        const distance = distanceKm(center, item);
        if (distance <= radiusKm) yield { item, distanceKm: distance };
      }
    }
  }
}

/**
 * A distance that nothing in a ring of cells is closer than, seen from anywhere in the cell in the middle. Ring n's
 * centres are at least 1.5 n edges away, and both the point and the item are within one edge of their cell's centre.
 */
function distanceToRingKm(ring: number): number {
  return Math.max(0, (1.5 * ring - 2) * SHORTEST_EDGE_KM);
}

function cellAt({ lat, lng }: Position): string {
  return latLngToCell(lat, lng, RESOLUTION);
}
