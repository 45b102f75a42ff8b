import { expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { readConfiguration } from '../src/config/read-configuration.js';
import { FARES, NEARBY, RIDES } from '../src/limits/policies.js';
import { capacityOf, cityOf, FULL_CITY, queueOf, scaleFor } from './city.js';
import { RIDER_LIMITS } from './figures/checks.js';

it('has the defaults of the application', () => {
  const { matching, matchingLimit } = readConfiguration({});
  expect(FULL_CITY).toEqual({
    workers: matching.workers,
    serviceMs: matching.serviceMs,
    limit: { capacity: matchingLimit.burst, refill: matchingLimit.perSecond },
  });
});

it('checks riders against the policies of the application', () => {
  const bucketOf = ({ capacity, refill }: Extract<Policy, { algorithm: 'token-bucket' }>): object => ({
    capacity,
    refill,
  });
  expect(RIDER_LIMITS).toEqual({ rides: bucketOf(RIDES), fares: bucketOf(FARES), nearby: bucketOf(NEARBY) });
});

it.each([1, 2, 3, 5, 10, 17, 100])('divided by %d holds a fraction of the requests, up to rounding', (scale) => {
  const { workers, serviceMs, limit } = cityOf(scale);
  expect(Number.isInteger(workers)).toBe(true);
  expect(workers / serviceMs / (FULL_CITY.workers / FULL_CITY.serviceMs / scale)).toBeCloseTo(1, 1);
  expect(limit.refill).toBe(FULL_CITY.limit.refill / scale);
  expect(limit.capacity).toBeGreaterThanOrEqual(20);
});

it.each([
  [1, 6],
  [2, 3],
  [3, 2],
  [4, 1],
  [64, 1],
])('divides the city for %d cores by %d', (cores, scale) => {
  expect(scaleFor(cores)).toBe(scale);
});

it('gives the queue the places that patience allows', () => {
  expect(capacityOf(FULL_CITY)).toBe(170);
  expect(queueOf(FULL_CITY, 3000)).toBe(510);
  expect(queueOf(cityOf(3), 2000)).toBe(114);
  expect(queueOf(cityOf(100), 1)).toBe(1);
});
