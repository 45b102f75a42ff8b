import { describe, expect, it } from '@jest/globals';
import { perSecond } from './arithmetic.js';
import {
  type Textbook,
  TextbookCounter,
  TextbookFirstRequestWindow,
  TextbookFixedWindow,
  TextbookLeakyBucket,
  TextbookLog,
  TextbookTokenBucket,
} from './textbook.js';

const SECOND = 1_000_000;

/** Asked at `at`: each row is the instant, the cost, and the whole verdict. */
type Row = [at: number, cost: number, allowed: boolean, remaining: number, resetAfter: number, retryAfter: number];

const CASES: [string, () => Textbook, Row[]][] = [
  [
    'token bucket',
    () => new TextbookTokenBucket(3, perSecond(3)),
    [
      [0, 2, true, 1, 666_667, 0],
      [0, 2, false, 1, 666_667, 333_334],
      [333_333, 2, false, 1, 333_334, 1],
      [333_334, 2, true, 0, SECOND, 0],
      [333_334, 4, false, 0, SECOND, Infinity],
    ],
  ],
  [
    'leaky bucket',
    () => new TextbookLeakyBucket(2, perSecond(4)),
    [
      [0, 1, true, 2, 250_000, 0],
      [0, 3, false, 2, 250_000, 250_000],
      [0, 2, true, 0, 750_000, 0],
      [100_000, 1, false, 0, 650_000, 150_000],
      [100_000, 4, false, 0, 650_000, Infinity],
    ],
  ],
  [
    'fixed window',
    () => new TextbookFixedWindow(3, SECOND),
    [
      [0, 0, true, 3, SECOND, 0],
      [999_999, 3, true, 0, 1, 0],
      [999_999, 1, false, 0, 1, 1],
      [SECOND, 3, true, 0, SECOND, 0],
    ],
  ],
  [
    'first-request window',
    () => new TextbookFirstRequestWindow(3, SECOND),
    [
      [0, 0, true, 3, SECOND, 0],
      [999_999, 3, true, 0, SECOND, 0],
      [SECOND, 1, false, 0, 999_999, 999_999],
      [1_999_998, 1, false, 0, 1, 1],
      [1_999_999, 0, true, 3, SECOND, 0],
      [2_500_000, 2, true, 1, SECOND, 0],
      [3_499_999, 2, false, 1, 1, 1],
    ],
  ],
  [
    'sliding window counter',
    () => new TextbookCounter(4, SECOND),
    [
      [500_000, 4, true, 0, 1_500_000, 0],
      [500_000, 1, false, 0, 1_500_000, 750_000],
      [1_500_000, 2, true, 0, 1_500_000, 0],
    ],
  ],
  [
    'sliding window log',
    () => new TextbookLog(2, SECOND),
    [
      [100, 1, true, 1, SECOND, 0],
      [200, 2, false, 1, 999_900, 999_900],
      [1_000_099, 2, false, 1, 1, 1],
      [1_000_100, 2, true, 0, SECOND, 0],
    ],
  ],
];

describe.each(CASES)('the textbook of the %s', (_, make, rows) => {
  it('gives the verdicts that its definition gives on paper', () => {
    const textbook = make();
    const seen = rows.map(([at, cost]) => {
      const { allowed, remaining, resetAfter, retryAfter } = textbook.verdict(at, cost);
      return [at, cost, allowed, remaining, resetAfter, retryAfter];
    });
    expect(seen).toEqual(rows);
  });

  it('refuses an instant before the last one', () => {
    const textbook = make();
    textbook.ask(1_000);
    expect(() => textbook.ask(999)).toThrow(new RangeError('an instant must not be before 1000, got 999'));
    expect(() => textbook.charge(999, 1)).toThrow(RangeError);
  });

  it('counts a charge that does not fit, and has nothing left', () => {
    const textbook = make();
    textbook.charge(0, 2 * textbook.maxCost);
    expect(textbook.remaining(0)).toBe(0);
    expect(textbook.fits(0, 1)).toBe(false);
    expect(textbook.retryAfter(0, 1)).toBeGreaterThan(0);
  });
});

it('the textbook of the leaky bucket gives each request the next slot, and knows since when the queue is not empty', () => {
  const queue = new TextbookLeakyBucket(2, perSecond(4));
  expect([10, 11, 12].map((at) => queue.ask(at).delay)).toEqual([0, 249_999, 499_998]);
  expect(queue.wholeSince).toBe(10);
  queue.ask(800_000);
  expect(queue.wholeSince).toBe(800_000);
});
