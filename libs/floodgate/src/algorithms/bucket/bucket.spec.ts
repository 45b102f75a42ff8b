import { describe, expect, it } from '@jest/globals';
import { type Arbitrary, assert, bigInt, property, record } from 'fast-check';
import { histories } from '../../../../../test/support/property-runs.js';
import type { Bucket } from './bucket.js';
import { LeakyBucket } from '../leaky-bucket/leaky-bucket.js';
import { TokenBucket } from '../token-bucket/token-bucket.js';

const LARGEST_FULL = 2n ** 52n;
const LARGEST_SKEW = 10_000_000n;

interface Extreme {
  readonly p: bigint;
  readonly q: bigint;
  readonly places: bigint;
  /** Ticks: up to a full bucket's, plus those of the largest skew. */
  readonly debt: bigint;
  readonly cost: bigint;
}

/** Buckets whose capacity is 2^52 ticks or slightly less, with any possible debt. */
const extremes: Arbitrary<Extreme> = record({
  p: bigInt({ min: 1n, max: 100_000_000n }),
  places: bigInt({ min: 1n, max: 1_000_000_000_000n }),
  debt: bigInt({ min: 0n, max: 10n ** 18n }),
  cost: bigInt({ min: 0n, max: 10n ** 12n }),
}).map(({ p, places, debt, cost }) => {
  const q = LARGEST_FULL / places;
  return { p, q, places, debt: debt % (places * q + LARGEST_SKEW * p + 1n), cost: 1n + (cost % places) };
});

function tokenBucket({ p, q, places }: Omit<Extreme, 'debt' | 'cost'>): Bucket {
  return new TokenBucket(Number(places), { tokens: Number(p), microseconds: Number(q), rounded: false });
}

function ceilOver(numerator: bigint, denominator: bigint): number {
  return Number((numerator + denominator - 1n) / denominator);
}

describe('the arithmetic of the buckets at its limits', () => {
  it('decides, waits and resets as in exact arithmetic', () => {
    const law = property(extremes, (extreme) => {
      const { p, q, places, debt, cost } = extreme;
      const bucket = tokenBucket(extreme);
      const level = Number(debt);
      const missing = debt + cost * q - places * q;
      const room = places * q - debt;
      expect(bucket.fits(level, Number(cost))).toBe(missing <= 0n);
      expect(bucket.remaining(level)).toBe(room < 0n ? 0 : Number(room / q));
      expect(bucket.resetAfter(level)).toBe(ceilOver(debt, p));
      expect(missing > 0n ? bucket.retryAfter(level, Number(cost)) : 0).toBe(missing > 0n ? ceilOver(missing, p) : 0);
    });
    assert(law, histories());
  });

  it('gives an exact retryAfter for a debt beyond a full bucket, where debt and cost together exceed 2^53', () => {
    const [p, q] = [99_999_999, 4_503_599_627_370_495];
    const bucket = new TokenBucket(1, { tokens: p, microseconds: q, rounded: false });
    for (let microseconds = 55_035_000; microseconds < 55_035_996; microseconds++) {
      // The whole debt must be paid off before the one token is available.
      expect(bucket.retryAfter(microseconds * p, 1)).toBe(microseconds);
    }
  });

  it('writes a debt without loss: whole microseconds and the remaining ticks', () => {
    const law = property(extremes, bigInt({ min: 0n, max: 4_000_000_000_000_000n }), (extreme, now) => {
      const { p, q, places, debt } = extreme;
      const bucket = tokenBucket(extreme);
      const level = Number(debt < places * q ? debt : places * q);
      const state = bucket.write(level, Number(now));
      expect(BigInt(state.at - Number(now)) * p + BigInt(state.ticks)).toBe(BigInt(level));
      expect(state.ticks).toBeLessThan(Number(p));
      expect(bucket.read(state, Number(now), 0)).toBe(level);
    });
    assert(law, histories());
  });
});

describe('the leaky bucket', () => {
  it('is a token bucket with one place more, in which a request waits for the debt before it', () => {
    const rate = { tokens: 3, microseconds: 1_000_000, rounded: false };
    const [leaky, token] = [new LeakyBucket(4, rate), new TokenBucket(5, rate)];
    for (let debt = 0; debt <= 5_000_000; debt += 333_333) {
      expect(leaky.fits(debt, 1)).toBe(token.fits(debt, 1));
      expect(leaky.retryAfter(debt, 5)).toBe(token.retryAfter(debt, 5));
      expect(leaky.delay(debt)).toBe(token.resetAfter(debt));
      expect(leaky.remaining(debt)).toBe(Math.min(4, token.remaining(debt)));
    }
  });
});
