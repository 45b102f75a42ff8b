import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { readConfiguration } from '../../config/read-configuration.js';
import { cityFor } from './city.js';

const SHIPPED = readConfiguration({});

it('is the shipped city on eight cores, and a part of it on fewer', () => {
  expect(cityFor(SHIPPED, 8)).toMatchObject({
    cores: 8,
    scale: 1,
    demand: 375,
    capacity: 150,
    limit: 100,
    calmDemand: 75,
  });
  expect(cityFor(SHIPPED, 16).scale).toBe(1);
  const quarter = cityFor(SHIPPED, 2);
  expect(quarter).toMatchObject({ cores: 2, scale: 4, limit: 25 });
  expect(quarter.capacity).toBeCloseTo(37.5, 0);
  // The limit leaves headroom, and no request of its first burst waits.
  expect(quarter.configuration.matchingLimit).toEqual({ perSecond: 25, burst: quarter.configuration.matching.workers });
  expect(cityFor(SHIPPED, 1).scale).toBe(8);
});

it('starts worlds of their own: nothing of this process but its numbers', () => {
  const own = readConfiguration({
    PORT: '3000',
    BIND: '*',
    REDIS_URL: 'redis://cache:6379',
    DATABASE_URL: 'postgres://app:secret@db/city',
    MATCHING_URL: 'http://matching:4000',
    ADMIN_TOKEN: '0123456789abcdef',
    RATE_LIMIT: 'off',
    PODS: '12',
    MATCHING_CANCEL: 'on',
    MATCHING_NEWEST_FIRST: 'on',
  });
  expect(cityFor(own, 2).configuration).toMatchObject({
    port: 0,
    bind: '127.0.0.1',
    databaseUrl: undefined,
    adminToken: undefined,
    rateLimit: 'on',
    controlRoom: 'off',
    pods: 1,
    matching: { url: undefined, cancels: false, newestFirst: false, queue: 188 },
  });
});

it('asks every machine for a load that it carries, and every city for more than it serves', () => {
  const variables = fc.record({
    MATCHING_WORKERS: fc.integer({ min: 1, max: 10_000 }).map(String),
    MATCHING_SERVICE_MS: fc.integer({ min: 0, max: 60_000 }).map(String),
  });
  fc.assert(
    fc.property(variables, fc.integer({ min: 1, max: 64 }), (given, cores) => {
      const { demand, capacity, calmDemand, riders, configuration } = cityFor(readConfiguration(given), cores);
      // Rounding to whole workers and milliseconds changes the capacity by half at most.
      expect(demand).toBeLessThanOrEqual(1.5 * 50 * cores + 1);
      expect(demand).toBeGreaterThanOrEqual(Math.max(1, 2.5 * capacity - 1));
      expect(calmDemand).toBeLessThan(capacity);
      // Two requests a visit, three attempts of three seconds each, with a second between them.
      expect(riders).toBeGreaterThanOrEqual((demand / 2) * 12);
      const { workers, serviceMs } = configuration.matching;
      expect(capacity).toBeCloseTo((1000 * workers) / serviceMs);
    }),
  );
});
