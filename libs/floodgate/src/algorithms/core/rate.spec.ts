import { describe, expect, it } from '@jest/globals';
import { type Arbitrary, assert, constantFrom, double, integer, oneof, pre, property, tuple } from 'fast-check';
import { expectHolds } from '../../../../../test/support/expect-same.js';
import { histories } from '../../../../../test/support/property-runs.js';
import { exactRate } from './rate.js';

const MAX_TOKENS = 100_000_000n;
const MAX_FULL = 2n ** 52n;
const HUNDRED_YEARS = 3_155_760_000_000_000n;
const LARGEST = 1_000_000_000_000;

/** A rate as a policy gives it, and as an exact fraction of tokens per microsecond. */
interface Given {
  readonly rate: number | string;
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Reads a number independently of the library: its digits, and a power of ten. */
function ofNumber(rate: number): Given {
  const [mantissa = '', exponent = '0'] = rate.toExponential().split('e');
  const [whole = '', decimals = ''] = mantissa.split('.');
  const power = Number(exponent) - decimals.length - 6; // per microsecond
  const [up, down] = [Math.max(power, 0), Math.max(-power, 0)].map((p) => 10n ** BigInt(p));
  return { rate, numerator: BigInt(whole + decimals) * up!, denominator: down! };
}

const UNITS = { ms: 1_000n, s: 1_000_000n, m: 60_000_000n, h: 3_600_000_000n, d: 86_400_000_000n };

const given: Arbitrary<Given> = oneof(
  integer({ min: 1, max: 1_000_000_000 }).map(ofNumber),
  double({ min: 1e-6, max: 1e9, noNaN: true }).map(ofNumber),
  tuple(integer({ min: 1, max: 1_000_000 }), integer({ min: 1, max: 999 }), constantFrom(...Object.entries(UNITS))).map(
    ([count, length, [unit, microseconds]]) => ({
      rate: `${count}/${length}${unit}`,
      numerator: BigInt(count),
      denominator: BigInt(length) * microseconds,
    }),
  ),
);

const places = oneof(
  integer({ min: 1, max: 1_000 }),
  integer({ min: 1, max: LARGEST }),
  constantFrom(1, LARGEST, LARGEST + 1),
);

function accepts({ numerator, denominator }: Given, count: number): boolean {
  return numerator <= denominator * 1_000n && BigInt(count) * denominator <= numerator * HUNDRED_YEARS;
}

describe('an exact rate', () => {
  it.each([
    [1, 1, 1_000_000],
    [0.5, 1, 2_000_000],
    [3_000, 3, 1_000],
    [999_999_990, 99_999_999, 100_000],
    ['600/m', 1, 100_000],
    ['7/11ms', 7, 11_000],
    ['2.5/s', 1, 400_000],
    ['1e3/s', 1, 1_000],
    [' 10 / m ', 1, 6_000_000],
    ['1/36525d', 1, 3_155_760_000_000_000],
  ])('%p is %d per %d microseconds', (rate, tokens, microseconds) => {
    expect(exactRate(rate, 1)).toEqual({ tokens, microseconds, rounded: false });
  });

  it('equals the given rate, reduced, or is rounded down', () => {
    const law = property(given, places, (asked, count) => {
      pre(accepts(asked, count));
      const { tokens, microseconds, rounded } = exactRate(asked.rate, count);
      const [p, q] = [BigInt(tokens), BigInt(microseconds)];
      const difference = asked.numerator * q - p * asked.denominator;
      expectHolds(difference >= 0n && rounded === difference > 0n, () => ({ asked, tokens, microseconds, rounded }));
      expectHolds(gcd(p, q) === 1n, () => ({ tokens, microseconds }));
    });
    assert(law, histories());
  });

  it('leaves room below 2^53 for a full bucket, and for 10 seconds of skew on top', () => {
    const law = property(given, places, (asked, count) => {
      pre(accepts(asked, count));
      const { tokens, microseconds } = exactRate(asked.rate, count);
      const full = BigInt(count) * BigInt(microseconds);
      expect(full).toBeLessThanOrEqual(MAX_FULL);
      expect(tokens).toBeGreaterThanOrEqual(1);
      expect(BigInt(tokens)).toBeLessThanOrEqual(MAX_TOKENS);
      expect(full + 10_000_000n * BigInt(tokens)).toBeLessThan(2n ** 53n);
      // The latest instant of a state: a full refill that begins in the year 2100.
      expect(4_102_444_800_000_000n + full / BigInt(tokens)).toBeLessThan(2n ** 53n);
    });
    assert(law, histories());
  });

  it('is the largest fraction that fits, where it is rounded', () => {
    const law = property(given, integer({ min: LARGEST / 10, max: LARGEST }), (asked, count) => {
      pre(accepts(asked, count));
      const { tokens, microseconds } = exactRate(asked.rate, count);
      let best = { p: 0n, q: 1n };
      for (let q = 1n; q <= MAX_FULL / BigInt(count); q += 1n) {
        const floor = (asked.numerator * q) / asked.denominator;
        const p = floor < MAX_TOKENS ? floor : MAX_TOKENS;
        if (p * best.q > best.p * q) best = { p, q };
      }
      expect([tokens, microseconds]).toEqual([Number(best.p), Number(best.q)]);
    });
    assert(law, { ...histories(), numRuns: 100 }); // each run tries up to 45,000 fractions
  });

  it.each([1 / 3, 2 / 3, Math.PI, 0.1 + 0.2, 123_456.789_012_3])('of %d loses less than one in 10 million', (rate) => {
    const { numerator, denominator } = ofNumber(rate);
    const { tokens, microseconds } = exactRate(rate, 100);
    const lost = numerator * BigInt(microseconds) - BigInt(tokens) * denominator;
    expect(lost).toBeGreaterThanOrEqual(0n);
    expect(lost * 10_000_000n).toBeLessThan(numerator * BigInt(microseconds));
  });
});

describe('an invalid rate', () => {
  const wanted = "must be a number per second greater than 0, or a count and a duration such as '600/m' or '10000/d'";

  it.each([
    [0],
    [-1],
    [NaN],
    [Infinity],
    [undefined],
    [true],
    [[10]],
    ['10'],
    ['10/'],
    ['/'],
    ['-1/s'],
    ['10/-1m'],
    ['ten/s'],
    ['10/s/s'],
    ['10/fortnight'],
    ['1e500/s'],
    [`${'1'.repeat(501)}/s`],
  ])('%p is rejected', (rate) => {
    expect(() => exactRate(rate, 1)).toThrow(new RangeError(wanted));
  });

  it.each([1_000_000_000.1, 2e9, Number.MAX_VALUE, '1000001/ms', '1e400/s', `${'1'.repeat(500)}/s`])(
    '%p is too fast',
    (rate) => {
      expect(() => exactRate(rate, 1)).toThrow(new RangeError('must be at most 1e9 per second'));
    },
  );

  it.each([
    ['1/36525d', 2],
    ['1/3155760000001ms', 1],
    [1e-9, 4],
    [300, LARGEST],
    [Number.MIN_VALUE, 1],
  ])('%p is too slow for %d', (rate, count) => {
    expect(() => exactRate(rate, count)).toThrow(`must be fast enough to pay off ${count} within 100 years`);
  });

  it('is accepted if it pays off all places just within 100 years', () => {
    expect(exactRate('1/36525d', 1).microseconds).toBe(3_155_760_000_000_000);
    expect(exactRate('1000000/36525d', 1_000_000)).toEqual({ tokens: 1, microseconds: 3_155_760_000, rounded: false });
    expect(() => exactRate('1000000/36525d', 1_000_001)).toThrow('within 100 years');
  });
});

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b);
}
