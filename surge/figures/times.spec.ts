import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { timesOf } from './times.js';

it('computes the distribution of a hundred times', () => {
  const hundred = Array.from({ length: 100 }, (_, i) => 100 - i);
  expect(timesOf(hundred)).toEqual({ count: 100, mean: 50.5, min: 1, median: 50, p95: 95, p99: 99, max: 100 });
});

it('returns NaN without times, and the same value for a single time', () => {
  expect(timesOf([])).toMatchObject({ count: 0, mean: NaN, p99: NaN });
  expect(timesOf([7])).toEqual({ count: 1, mean: 7, min: 7, median: 7, p95: 7, p99: 7, max: 7 });
});

it('returns measured times with the right share below them', () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { minLength: 1 }), (times) => {
      const { p95, min, max } = timesOf(times);
      expect(times).toContain(p95);
      expect(times.filter((time) => time <= p95).length).toBeGreaterThanOrEqual(0.95 * times.length);
      expect(times.filter((time) => time < p95).length).toBeLessThan(0.95 * times.length);
      expect([min, max]).toEqual([Math.min(...times), Math.max(...times)]);
    }),
  );
});
