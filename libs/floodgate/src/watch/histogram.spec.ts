import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Histogram } from './histogram.js';

const bounds = fc
  .uniqueArray(fc.integer({ min: -5, max: 20 }), { minLength: 1 })
  .map((all) => all.toSorted((a, b) => a - b));
const values = fc.array(fc.oneof(fc.integer({ min: -10, max: 30 }), fc.double({ min: -10, max: 30, noNaN: true })));

it('has in each bucket the values that are not above its bound', () => {
  fc.assert(
    fc.property(bounds, values, (given, observed) => {
      const histogram = new Histogram(given);
      for (const value of observed) histogram.observe(value);
      const { buckets, count, sum } = histogram.snapshot();
      expect(buckets).toEqual(given.map((upTo) => ({ upTo, count: observed.filter((value) => value <= upTo).length })));
      expect(count).toBe(observed.length);
      expect(sum).toBeCloseTo(
        observed.reduce((a, b) => a + b, 0),
        6,
      );
    }),
  );
});
