import { describe, expect, it } from '@jest/globals';
import { Random } from '../time/random.js';
import { IdealStore, worstExcess } from './oracle.js';

const LIMIT = { capacity: 5, refill: 10 };

/** The same by trying every interval. */
function excessOfAll(instants: readonly number[]): number {
  let worst = -Infinity;
  for (const [i, from] of instants.entries()) {
    for (let j = i; j < instants.length; j++) {
      worst = Math.max(worst, j - i + 1 - LIMIT.capacity - ((instants[j]! - from) * LIMIT.refill) / 1e6);
    }
  }
  return worst;
}

describe('the oracle', () => {
  it.each([
    ['a burst of the capacity', [0, 0, 0, 0, 0], 0],
    ['one more in the burst', [0, 0, 0, 0, 0, 0], 1],
    ['a burst and the refill', [0, 0, 0, 0, 0, 100_000], 0],
    ['one microsecond too early', [0, 0, 0, 0, 0, 99_999], 0.000_01],
    ['an excess late, after a pause', [0, 5_000_000, 5_000_000, 5_000_000, 5_000_000, 5_000_000, 5_000_000], 1],
    ['nothing', [], 0],
  ])('%s', (_, instants, excess) => {
    expect(worstExcess(instants, LIMIT)).toBeCloseTo(excess, 9);
  });

  it('finds what the search of all intervals finds', () => {
    const random = new Random(7);
    for (let run = 0; run < 200; run++) {
      const instants = Array.from({ length: 1 + random.below(20) }, () => random.below(1_500_000));
      instants.sort((one, other) => one - other);
      expect(worstExcess(instants, LIMIT)).toBeCloseTo(excessOfAll(instants), 9);
    }
  });

  it('never objects to the ideal store, which admits as much as the limit allows', () => {
    const random = new Random(9);
    const ideal = new IdealStore(LIMIT);
    const instants: number[] = [];
    for (let at = 0; at < 20_000_000; at += random.below(60_000)) {
      const before = ideal.admitted;
      ideal.arrive('key', at);
      if (ideal.admitted > before) instants.push(at);
    }
    expect(worstExcess(instants, LIMIT)).toBeLessThanOrEqual(0);
    expect(instants.length).toBeGreaterThan(20 * LIMIT.refill);
  });
});
