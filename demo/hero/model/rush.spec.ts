import { describe, expect, it } from '@jest/globals';
import { assert, constantFrom, double, integer, property, record } from 'fast-check';
import { capacityOf, cityOf } from '../../surge/city.js';
import { histories } from '../../../test/support/property-runs.js';
import { CITY, type City } from './city.js';
import { type Outcome, type Request, rush } from './rush.js';

const count = (requests: readonly Request[], outcome: Outcome): number =>
  requests.filter((request) => request.outcome === outcome).length;

/** Cities of the surge, with demands above what matching can serve, and queues from the shipped bound to none. */
const anyCity = record({
  scale: integer({ min: 1, max: 6 }),
  times: double({ min: 2, max: 5, noNaN: true }),
  rushMs: integer({ min: 12_000, max: 20_000 }),
  isBounded: constantFrom(true, false),
}).map(({ scale, times, rushMs, isBounded }): City => {
  const { workers, serviceMs, queue, limit } = cityOf(scale);
  return {
    ...CITY,
    workers,
    serviceMs,
    limit,
    queue: isBounded ? queue : Infinity,
    demand: times * capacityOf({ workers, serviceMs, queue, limit }),
    rushMs,
  };
});

describe('the rush', () => {
  it('answers each request once, in the order of sending, and keeps no rider beyond their patience', () => {
    const law = property(anyCity, constantFrom(false, true), (city, isLimited) => {
      const requests = rush(city, isLimited);
      expect(requests).toHaveLength(Math.round((city.demand * city.rushMs) / 1000));
      const isRight = ({ sentAt, endedAt }: Request, i: number): boolean =>
        sentAt >= (requests[i - 1]?.sentAt ?? 0) &&
        sentAt < city.rushMs &&
        endedAt > sentAt &&
        endedAt <= sentAt + city.patienceMs;
      expect(requests.filter((request, i) => !isRight(request, i))).toEqual([]);
      const all = (['served', 'refused', 'failed'] as const).map((outcome) => count(requests, outcome));
      expect(all.reduce((sum, one) => sum + one)).toBe(requests.length);
    });
    assert(law, histories(0.2));
  });

  it('serves more riders with the limit, fails none of them, and refuses in milliseconds', () => {
    const law = property(anyCity, (city) => {
      const [without, within] = [rush(city, false), rush(city, true)];
      expect(count(within, 'failed')).toBe(0);
      expect(count(without, 'refused')).toBe(0);
      expect(count(within, 'served')).toBeGreaterThan(count(without, 'served'));
      const longest = (isRefused: boolean): number =>
        within.reduce(
          (most, { sentAt, endedAt, outcome }) =>
            (outcome === 'refused') === isRefused ? Math.max(most, endedAt - sentAt) : most,
          0,
        );
      expect(longest(true)).toBeLessThan(10);
      expect(longest(false)).toBeLessThan(3 * city.serviceMs);
    });
    assert(law, histories(0.2));
  });
});
