import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { cellToLatLng, getPentagons } from 'h3-js';
import { CellGrid } from './cell-grid.js';
import { distanceKm, type Position } from './position.js';

const anywhere = fc.record({
  lat: fc.double({ min: -90, max: 90, noNaN: true }),
  lng: fc.double({ min: -180, max: 180, noNaN: true }),
});

/** Where a grid of hexagons on a globe is at its most irregular, next to where people take taxis. */
const center = fc.oneof(
  fc.constantFrom<Position>(
    { lat: 40.7505, lng: -73.9934 },
    { lat: -16.5, lng: 180 },
    { lat: 90, lng: 0 },
    { lat: -89.99, lng: 12 },
    ...getPentagons(8).map(positionOf),
  ),
  anywhere,
);

/** Items within roughly 15 km of the center, most of them close. */
const scene = center.chain((middle) =>
  fc.record({
    middle: fc.constant(middle),
    items: fc.uniqueArray(nearTo(middle), { maxLength: 60 }),
    radiusKm: fc.double({ min: 0.1, max: 20, noNaN: true }),
  }),
);

describe('CellGrid', () => {
  it('finds the nearest item that brute force finds', () => {
    fc.assert(
      fc.property(scene, fc.integer({ min: 1, max: 4 }), ({ middle, items, radiusKm }, nth) => {
        const grid = gridOf(items);
        const accepted = new Set(items.filter((_, i) => i % nth === 0));
        const distances = [...accepted].map((item) => distanceKm(middle, item)).filter((km) => km <= radiusKm);
        const found = grid.nearest(middle, radiusKm, (item) => accepted.has(item));
        expect(found?.distanceKm).toBe(distances.length > 0 ? Math.min(...distances) : undefined);
      }),
      { numRuns: 400 },
    );
  });

  it('finds within a radius what brute force finds', () => {
    fc.assert(
      fc.property(scene, ({ middle, items, radiusKm }) => {
        const found = Array.from(gridOf(items).within(middle, radiusKm), ({ item }) => item);
        expect(found).toHaveLength(new Set(found).size);
        expect(new Set(found)).toEqual(new Set(items.filter((item) => distanceKm(middle, item) <= radiusKm)));
      }),
      { numRuns: 200 },
    );
  });

  it('finds an item again and again until it is removed', () => {
    const grid = new CellGrid<Position>();
    const item = { lat: 40.7505, lng: -73.9934 };
    const cell = grid.add(item);
    expect(grid.nearest(item, 1, () => true)).toEqual({ item, distanceKm: 0 });
    grid.remove(item, cell);
    expect(grid.nearest(item, 1, () => true)).toBeUndefined();
  });
});

function gridOf(items: readonly Position[]): CellGrid<Position> {
  const grid = new CellGrid<Position>();
  for (const item of items) grid.add(item);
  return grid;
}

function positionOf(cell: string): Position {
  const [lat, lng] = cellToLatLng(cell);
  return { lat, lng };
}

function nearTo(middle: Position): fc.Arbitrary<Position> {
  const shrink = Math.max(0.01, Math.cos((middle.lat * Math.PI) / 180));
  const offset = fc.oneof(
    fc.double({ min: -0.01, max: 0.01, noNaN: true }),
    fc.double({ min: -0.13, max: 0.13, noNaN: true }),
  );
  return fc.record({ lat: offset, lng: offset }).map(({ lat, lng }) => ({
    lat: Math.min(90, Math.max(-90, middle.lat + lat)),
    lng: ((((middle.lng + lng / shrink + 180) % 360) + 360) % 360) - 180,
  }));
}
