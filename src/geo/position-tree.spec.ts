import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { cellToLatLng, getPentagons } from 'h3-js';
import { histories } from '../../test/support/property-runs.js';
import { type Entry, MAX_LOOKS, PositionTree, snapped } from './position-tree.js';
import { distanceKm, type Position } from './position.js';

const GARDEN = { lat: 40.7505, lng: -73.9934 };

const anywhere = fc.record({
  lat: fc.double({ min: -90, max: 90, noNaN: true }),
  lng: fc.double({ min: -180, max: 180, noNaN: true }),
});

/** The most irregular places of latitude and longitude, and a city. */
const center = fc.oneof(
  fc.constantFrom<Position>(
    GARDEN,
    { lat: -16.5, lng: 180 },
    { lat: 90, lng: 0 },
    { lat: -89.99, lng: 12 },
    { lat: 0, lng: 0 },
    ...getPentagons(8).map(positionOf),
  ),
  anywhere,
);

/** Items within roughly 15 km of the center, most of them close, and many of them at positions of others. */
const scene = center.chain((middle) =>
  fc.record({
    middle: fc.constant(middle),
    items: fc
      .tuple(fc.array(nearTo(middle), { maxLength: 60 }), fc.array(fc.nat(60), { maxLength: 60 }))
      .map(([spots, again]) => [...spots, ...again.flatMap((i) => spots[i] ?? [])]),
    radiusKm: fc.double({ min: 0.1, max: 20, noNaN: true }),
    limit: fc.integer({ min: 1, max: 150 }),
  }),
);

/** The distances that `nearest` should find. */
function bruteForce(items: Iterable<Position>, middle: Position, radiusKm: number, limit: number): number[] {
  return Array.from(items, (item) => distanceKm(middle, snapped(item)))
    .filter((km) => km <= radiusKm)
    .toSorted((a, b) => a - b)
    .slice(0, limit);
}

describe('PositionTree', () => {
  it('finds the same nearest items as brute force, each once', () => {
    fc.assert(
      fc.property(scene, ({ middle, items, radiusKm, limit }) => {
        const found = treeOf(items).nearest(middle, radiusKm, limit);
        expect(found.map((one) => one.distanceKm)).toEqual(bruteForce(items, middle, radiusKm, limit));
        expect(new Set(found.map(({ entry }) => entry)).size).toBe(found.length);
        for (const { entry, distanceKm: km } of found) expect(distanceKm(middle, snapped(entry.item))).toBe(km);
      }),
      histories(),
    );
  });

  it('finds the present items while items are added and removed', () => {
    const step = fc.record({ add: fc.boolean(), spot: fc.nat(40), which: fc.nat() });
    fc.assert(
      fc.property(
        center,
        fc.array(nearTo(GARDEN), { minLength: 41, maxLength: 41 }),
        fc.array(step, { maxLength: 150 }),
        (middle, spots, steps) => {
          const tree = new PositionTree<Position>();
          const entries: Entry<Position>[] = [];
          for (const { add, spot, which } of steps) {
            if (add || entries.length === 0) entries.push(tree.add(spots[spot]!, spots[spot]!));
            else tree.remove(entries.splice(which % entries.length, 1)[0]!);
          }
          for (const from of [middle, GARDEN]) {
            const items = entries.map(({ item }) => item);
            const found = tree.nearest(from, 20_100, 30);
            expect(found.map((one) => one.distanceKm)).toEqual(bruteForce(items, from, 20_100, 30));
          }
          for (const entry of entries) tree.remove(entry);
          expect(tree.nearest(GARDEN, 20_100, 1)).toEqual([]);
        },
      ),
      histories(0.3),
    );
  });
});

describe('the work of a search', () => {
  const COUNT = 10_000;
  const metres = (north: number, east: number): Position => ({
    lat: GARDEN.lat + north / 111_195,
    lng: GARDEN.lng + east / (111_195 * Math.cos((GARDEN.lat * Math.PI) / 180)),
  });
  const spread = (i: number, factor: number): number => ((i * factor) % 1) - 0.5;

  const distributions: [string, (i: number) => Position][] = [
    ['at one spot', () => GARDEN],
    ['within a metre', (i) => metres(spread(i, Math.SQRT2), spread(i, Math.sqrt(3)))],
    ['all over a city', (i) => metres(20_000 * spread(i, Math.SQRT2), 20_000 * spread(i, Math.sqrt(3)))],
    ['along a street', (i) => metres(i, 0)],
  ];

  it.each(distributions)(
    'finds exactly the nearest 50 of 10,000 %s without a comparison with most of them',
    (_, at) => {
      const items = Array.from({ length: COUNT }, (__, i) => at(i));
      const tree = treeOf(items);
      for (const radiusKm of [0.1, 2, 20]) {
        const before = tree.looks;
        const found = tree.nearest(GARDEN, radiusKm, 50);
        expect(tree.looks - before).toBeLessThan(1500);
        expect(found.map((one) => one.distanceKm)).toEqual(bruteForce(items, GARDEN, radiusKm, 50));
      }
    },
  );

  it('is bounded when thousands of items are equally far away, and misses by a few metres at most', () => {
    const items = Array.from({ length: COUNT }, (_, i) => {
      const angle = i * 2 * Math.PI * 0.618034;
      const radius = 2000 + 10 * spread(i, Math.SQRT2);
      return metres(radius * Math.cos(angle), radius * Math.sin(angle));
    });
    const tree = treeOf(items);
    const found = tree.nearest(GARDEN, 20, 50);
    expect(tree.looks).toBeGreaterThan(1000);
    expect(tree.looks).toBeLessThanOrEqual(MAX_LOOKS + 20);
    expect(found).toHaveLength(50);
    const best = bruteForce(items, GARDEN, 20, 50);
    for (const [i, { distanceKm: km }] of found.entries()) expect(km - best[i]!).toBeLessThan(0.05);
  });
});

function treeOf(items: readonly Position[]): PositionTree<Position> {
  const tree = new PositionTree<Position>();
  for (const item of items) tree.add(item, item);
  return tree;
}

function positionOf(cell: string): Position {
  const [lat, lng] = cellToLatLng(cell);
  return { lat, lng };
}

function nearTo(middle: Position): fc.Arbitrary<Position> {
  const shrink = Math.max(0.01, Math.cos((middle.lat * Math.PI) / 180));
  const offset = fc.oneof(
    fc.double({ min: -1e-6, max: 1e-6, noNaN: true }),
    fc.double({ min: -0.01, max: 0.01, noNaN: true }),
    fc.double({ min: -0.13, max: 0.13, noNaN: true }),
  );
  return fc.record({ lat: offset, lng: offset }).map(({ lat, lng }) => ({
    lat: Math.min(90, Math.max(-90, middle.lat + lat)),
    lng: ((((middle.lng + lng / shrink + 180) % 360) + 360) % 360) - 180,
  }));
}
