import { describe, expect, it } from '@jest/globals';
import type { Algorithm } from '../algorithms/core/algorithm.js';
import { parsePolicy, type ParsedPolicy } from './parse-policy.js';

/** Until the end of this year all instants are exact, whatever durations boot has accepted. */
const LAST_YEAR = 2080;
const WINDOW = { algorithm: 'fixed-window', limit: 1, window: '1m' };
const DAY_MS = 86_400_000;
const YEAR_MS = 365.25 * DAY_MS;

const parse = (policy: object): ParsedPolicy => parsePolicy(policy, 'here');

/** The longest duration that boot accepts, by bisection of the milliseconds. */
function longest(policyOf: (ms: number) => object): number {
  let [low, high] = [1000, 2 ** 53 / 1000];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    try {
      parse(policyOf(middle));
      low = middle;
    } catch {
      high = middle;
    }
  }
  return low;
}

/** Instants of every year until the last one, in microseconds. */
const INSTANTS = Array.from({ length: LAST_YEAR - 2024 }, (_, i) => Date.UTC(2025 + i, 11, 31, 23, 59, 59, 999) * 1000);

function expectExact(instants: readonly number[]): void {
  for (const instant of instants) {
    expect(Number.isSafeInteger(instant)).toBe(true);
    expect(String(instant).length).toBeLessThanOrEqual(16);
  }
}

/** What an algorithm writes for a state that was charged as deep as it can be. */
function furthest(algorithm: Algorithm, overdraft: number, now: number): number[] {
  let level = algorithm.read(undefined, now, 0);
  level = algorithm.charge(level, Math.min(algorithm.maxCost, algorithm.limit));
  if (overdraft > 0) level = algorithm.charge(level, overdraft);
  return [algorithm.expiresAt(level, now), now + algorithm.resetAfter(level)];
}

describe('the longest durations that boot accepts', () => {
  it.each<[string, (ms: number) => object]>([
    ['a fixed window', (window) => ({ ...WINDOW, window })],
    ['a log', (window) => ({ ...WINDOW, algorithm: 'sliding-window-log', window })],
    ['a counter', (window) => ({ ...WINDOW, algorithm: 'sliding-window-counter', window })],
    ['a counter of 2', (window) => ({ ...WINDOW, algorithm: 'sliding-window-counter', limit: 2, window })],
    ['a bucket', (ms) => ({ algorithm: 'token-bucket', capacity: 1, refill: `1/${ms}ms` })],
    ['a queue', (ms) => ({ algorithm: 'leaky-bucket', capacity: 1, drain: `1/${ms}ms` })],
  ])('keep the instants of %s exact', (_, policyOf) => {
    const { algorithm, overdraft } = parse(policyOf(longest(policyOf)));
    for (const now of INSTANTS) expectExact(furthest(algorithm, overdraft, now));
  });

  it.each<[string, (ms: number) => object]>([
    ['a block', (ms) => ({ ...WINDOW, blockFor: ms })],
    ['escalating blocks', (ms) => ({ ...WINDOW, blockFor: [1, ms] })],
  ])('keep the instants of %s exact', (_, policyOf) => {
    const block = parse(policyOf(longest(policyOf))).block!;
    for (const now of INSTANTS) {
      let level = block.read(undefined, now, 0);
      for (let i = 0; i < 2; i++) {
        level = block.charge({ ...level, count: 0 });
        const { ends, ...more } = block.write(level, now);
        const { forgottenAt = 0 } = more as { readonly forgottenAt?: number };
        expectExact([ends, forgottenAt, block.expiresAt(level, now)]);
        // A pod whose clock is behind by the largest skew.
        expect(block.read(block.write(level, now), now - 10_000_000, 10_000_000)).toMatchObject({ count: 1 });
      }
    }
  });

  it.each<[string, object, string]>([
    [
      'a list with a block of 90 years',
      { ...WINDOW, blockFor: ['1m', 90 * YEAR_MS] },
      `each longer than the one before and none longer than 50 years, such as ['1m', '10m', '1h'], got ${90 * YEAR_MS} at [1]`,
    ],
    [
      'a counter whose windows last 90 years',
      { ...WINDOW, algorithm: 'sliding-window-counter', window: 90 * YEAR_MS },
      `window must be milliseconds or a duration such as '1m', from 1 ms to ${50 * YEAR_MS} ms, got ${90 * YEAR_MS}`,
    ],
  ])('do not include %s', (_, policy, message) => {
    expect(() => parse(policy)).toThrow(message);
  });

  it('include a block of 100 years, and a list up to 50', () => {
    expect(parse({ ...WINDOW, blockFor: 100 * YEAR_MS }).block!.durations).toEqual([100 * YEAR_MS * 1000]);
    expect(parse({ ...WINDOW, blockFor: ['1h', 50 * YEAR_MS] }).block!.durations).toHaveLength(2);
  });
});
