import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { cityFor, type MatchingSize } from './city.js';

/** 150 requests per second, two thirds of which the limit lets through. */
const SHIPPED: MatchingSize = { workers: 6, serviceMs: 40, queue: 750, limit: 100 };

it('is the shipped city on eight cores, and a part of it on fewer', () => {
  expect(cityFor(SHIPPED, 8)).toMatchObject({
    cores: 8,
    scale: 1,
    demand: 375,
    capacity: 150,
    limit: 100,
  });
  expect(cityFor(SHIPPED, 16).scale).toBe(1);
  const quarter = cityFor(SHIPPED, 2);
  expect(quarter).toMatchObject({ cores: 2, scale: 4, limit: 25, world: { limit: 25, queue: 188 } });
  expect(quarter.capacity).toBeCloseTo(37.5, 0);
  // The limit leaves headroom, and no request of its first burst waits.
  expect(quarter.world.burst).toBe(quarter.world.workers);
  expect(cityFor(SHIPPED, 1).scale).toBe(8);
});

it('asks every machine for a load that it carries, and every city for more than it serves', () => {
  const shipped = fc.record({
    workers: fc.integer({ min: 1, max: 10_000 }),
    serviceMs: fc.integer({ min: 0, max: 60_000 }),
    queue: fc.constant(750),
    limit: fc.constant(100),
  });
  fc.assert(
    fc.property(shipped, fc.integer({ min: 1, max: 64 }), (given, cores) => {
      const { demand, capacity, riders, world } = cityFor(given, cores);
      // Rounding to whole workers and milliseconds changes the capacity by half at most.
      expect(demand).toBeLessThanOrEqual(1.5 * 50 * cores + 1);
      expect(demand).toBeGreaterThanOrEqual(Math.max(1, 2.5 * capacity - 1));
      // Two requests a visit, three attempts of three seconds each, with a second between them.
      expect(riders).toBeGreaterThanOrEqual((demand / 2) * 12);
      expect(capacity).toBeCloseTo((1000 * world.workers) / world.serviceMs);
    }),
  );
});
