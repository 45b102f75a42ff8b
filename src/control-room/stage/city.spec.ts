import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { readConfiguration } from '../../config/read-configuration.js';
import { cityFor } from './city.js';

const SHIPPED = readConfiguration({});

it('is the shipped city on four cores, and a part of it on fewer', () => {
  expect(cityFor(SHIPPED, 4)).toMatchObject({
    cores: 4,
    scale: 1,
    demand: 425,
    capacity: 170,
    limit: 150,
    calmDemand: 85,
  });
  expect(cityFor(SHIPPED, 16).scale).toBe(1);
  const half = cityFor(SHIPPED, 2);
  expect(half).toMatchObject({ cores: 2, scale: 2, limit: 75 });
  expect(half.capacity).toBeCloseTo(85, 0);
  expect(half.configuration.matchingLimit).toEqual({ perSecond: 75, burst: 30 });
  expect(cityFor(SHIPPED, 1).scale).toBe(4);
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
  });
  expect(cityFor(own, 2).configuration).toMatchObject({
    port: 0,
    bind: '127.0.0.1',
    databaseUrl: undefined,
    adminToken: undefined,
    rateLimit: 'on',
    controlRoom: 'off',
    pods: 1,
    matching: { url: undefined },
  });
});

it('asks every machine for a load that it carries, and every city for more than it serves', () => {
  const variables = fc.record({
    MATCHING_WORKERS: fc.integer({ min: 1, max: 10_000 }).map(String),
    MATCHING_SERVICE_MS: fc.integer({ min: 0, max: 60_000 }).map(String),
  });
  fc.assert(
    fc.property(variables, fc.integer({ min: 1, max: 64 }), (given, cores) => {
      const { demand, capacity, calmDemand, riders, giveUpMs, configuration } = cityFor(
        readConfiguration(given),
        cores,
      );
      // Rounding to whole workers and milliseconds changes the capacity by half at most.
      expect(demand).toBeLessThanOrEqual(1.5 * 106.25 * cores + 1);
      expect(demand).toBeGreaterThanOrEqual(Math.max(1, 2.5 * capacity - 1));
      expect(calmDemand).toBeLessThan(capacity);
      expect(riders).toBeGreaterThanOrEqual((demand * giveUpMs) / 1000);
      const { workers, serviceMs } = configuration.matching;
      expect(capacity).toBeCloseTo((1000 * workers) / serviceMs);
    }),
  );
});
