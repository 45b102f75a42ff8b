import { expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { readConfiguration } from '../../src/config/read-configuration.js';
import { FARES, NEARBY, RIDES } from '../../src/limits/policies.js';
import { capacityOf, cityOf, FULL_CITY } from './city.js';
import { RIDER_LIMITS } from './figures/checks.js';

it('has the defaults of the application, and a burst that the workers begin at once', () => {
  const { matching, matchingLimit } = readConfiguration({});
  expect(FULL_CITY).toEqual({
    workers: matching.workers,
    serviceMs: matching.serviceMs,
    queue: matching.queue,
    limit: { capacity: matching.workers, refill: matchingLimit.perSecond },
  });
});

it('checks riders against the policies of the application', () => {
  const bucketOf = ({ capacity, refill }: Extract<Policy, { algorithm: 'token-bucket' }>): object => ({
    capacity,
    refill,
  });
  expect(RIDER_LIMITS).toEqual({ rides: bucketOf(RIDES), fares: bucketOf(FARES), nearby: bucketOf(NEARBY) });
});

it('leaves matching headroom: its limit is 62 to 70 % of what it holds, with the first burst of ten seconds', () => {
  for (const scale of [1, 2, 3, 6]) {
    const city = cityOf(scale);
    const admitted = city.limit.capacity / 10 + city.limit.refill;
    expect(admitted / capacityOf(city)).toBeGreaterThan(0.62);
    expect(admitted / capacityOf(city)).toBeLessThan(0.7);
  }
  expect(capacityOf(FULL_CITY)).toBe(150);
});
