import { describe, expect, it } from '@jest/globals';
import { type Arbitrary, assert, bigInt, property, record } from 'fast-check';
import { histories } from '../../../../../test/support/property-runs.js';
import { SlidingWindowCounter } from './sliding-window-counter.js';

const LARGEST_PRODUCT = 2n ** 52n;

interface Extreme {
  readonly limit: bigint;
  readonly window: bigint;
  readonly previous: bigint;
  readonly current: bigint;
  readonly left: bigint;
  readonly cost: bigint;
}

/** Limits and windows whose product is just below 2^52, with any counts and instants in them. */
const extremes: Arbitrary<Extreme> = record({
  limit: bigInt({ min: 2n, max: 1_000_000_000_000n }),
  previous: bigInt({ min: 0n, max: LARGEST_PRODUCT }),
  current: bigInt({ min: 0n, max: LARGEST_PRODUCT }),
  left: bigInt({ min: 0n, max: LARGEST_PRODUCT }),
  cost: bigInt({ min: 0n, max: LARGEST_PRODUCT }),
}).map(({ limit, previous, current, left, cost }) => {
  const window = LARGEST_PRODUCT / limit;
  return {
    limit,
    window,
    previous: previous % (limit + 1n),
    current: current % (limit + 1n),
    left: 1n + (left % window),
    cost: 1n + (cost % limit),
  };
});

/** The definition: previous x (window - elapsed) <= (limit - cost - current) x window. */
function wouldAllow({ limit, window, previous, current, cost }: Extreme, elapsed: bigint): boolean {
  return previous * (window - elapsed) <= (limit - cost - current) * window;
}

describe('the arithmetic of the sliding window counter at its limits', () => {
  it('decides as the product form does, without rounding errors', () => {
    const law = property(extremes, (extreme) => {
      const { limit, window, previous, current, left, cost } = extreme;
      const counter = new SlidingWindowCounter(Number(limit), Number(window));
      const level = { previous: Number(previous), current: Number(current), left: Number(left) };
      expect(counter.fits(level, Number(cost))).toBe(wouldAllow(extreme, window - left));
      const used = current + (previous * left + window - 1n) / window;
      expect(counter.remaining(level)).toBe(used > limit ? 0 : Number(limit - used));
    });
    assert(law, histories());
  });

  it('gives a retryAfter that is exact to the microsecond, in its own window and in the next one', () => {
    const law = property(extremes, (extreme) => {
      const { limit, window, previous, current, left, cost } = extreme;
      const elapsed = window - left;
      const counter = new SlidingWindowCounter(Number(limit), Number(window));
      const level = { previous: Number(previous), current: Number(current), left: Number(left) };
      const retryAfter = counter.fits(level, Number(cost)) ? 0n : BigInt(counter.retryAfter(level, Number(cost)));
      const allowedAfter = (microseconds: bigint): boolean => {
        const then = elapsed + microseconds;
        if (then < window) return wouldAllow(extreme, then);
        return wouldAllow({ ...extreme, previous: current, current: 0n }, then - window);
      };
      expect(allowedAfter(retryAfter)).toBe(true);
      expect(retryAfter > 0n && allowedAfter(retryAfter - 1n)).toBe(false);
    });
    assert(law, histories());
  });
});
