import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { parsePolicy } from './parse-policy.js';
import { reachedAt } from './thresholds.js';

const QUOTA = { algorithm: 'fixed-window', limit: 100, window: '1d' } as const;
const parse = (options: object) => () => parsePolicy({ ...QUOTA, ...options }, 'test');

describe('reachedAt', () => {
  it('is the smallest cost whose part of the limit is the level, by exact arithmetic in percents', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 1_000_000_000_000 }),
        (percent, limit) => {
          const exact = (BigInt(percent) * BigInt(limit) + 99n) / 100n;
          expect(reachedAt(percent / 100, limit)).toBe(Number(exact));
        },
      ),
      { numRuns: 2000 },
    );
  });

  it.each([
    [0.55, 100, 55], // 0.55 * 100 is 55.00000000000001
    [0.8, 10, 8],
    [0.8, 3, 3],
    [1, 7, 7],
    [0.0001, 10, 1],
  ])('%d of %d is reached at %d', (level, limit, cost) => expect(reachedAt(level, limit)).toBe(cost));
});

describe('the option thresholds', () => {
  it.each([[[0.8, 1]], [[1]], [[0.01]], [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1]]])('takes %j', (thresholds) => {
    expect(parse({ thresholds })().thresholds).toEqual(thresholds);
  });

  it.each([[[]], [0.8], [[0]], [[1.01]], [[1, 0.8]], [['0.8']], [[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]]])(
    'refuses %j, and says what would be right',
    (thresholds) => {
      expect(parse({ thresholds })).toThrow(
        'test: thresholds must be an array of 1 to 8 parts of the limit, above 0 to 1, in ascending order, such as [0.8, 1]',
      );
    },
  );

  it('names the part that is wrong', () => {
    expect(parse({ thresholds: [0.8, 80] })).toThrow('such as [0.8, 1], got 80 at [1]');
  });

  it('has no effect in shadow', () => {
    expect(parse({ thresholds: [1], mode: 'shadow' })().warnings).toEqual([
      "thresholds: an array has no effect with mode: 'shadow', which tells nobody: add them when the policy is enforced",
    ]);
  });
});
