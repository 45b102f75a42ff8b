import { describe, expect, it } from '@jest/globals';
import { mulberry32 } from '../../demo/riders/mulberry32.js';
import { perSecond } from './arithmetic.js';
import { type Admission, costByWindow, mostWithin, worstExcess } from './bounds.js';

const CAPACITY = 5;
const REFILL = 10;
const SECOND = 1_000_000;

function excessOf(admissions: readonly Admission[]): number {
  return worstExcess(admissions, CAPACITY, perSecond(REFILL));
}

/** Calls `look` with the first instant, the last one and the cost of every interval between admissions. */
function everyInterval(admissions: readonly Required<Admission>[], look: (length: number, cost: number) => void): void {
  for (const [i, first] of admissions.entries()) {
    let cost = 0;
    for (const last of admissions.slice(i)) look(last.at - first.at, (cost += last.cost));
  }
}

function randomAdmissions(random: () => number): Required<Admission>[] {
  const length = 1 + Math.floor(random() * 20);
  return Array.from({ length }, () => ({
    at: Math.floor(random() * 1.5 * SECOND),
    cost: 1 + Math.floor(random() * 3),
  })).toSorted((one, other) => one.at - other.at);
}

describe('the excess of the worst interval', () => {
  it('is what the search of all intervals finds', () => {
    const random = mulberry32(7);
    for (let run = 0; run < 200; run++) {
      const admissions = randomAdmissions(random);
      let worst = -Infinity;
      everyInterval(admissions, (length, cost) => {
        worst = Math.max(worst, cost - CAPACITY - (length * REFILL) / SECOND);
      });
      expect(excessOf(admissions.toReversed())).toBeCloseTo(worst, 9);
    }
  });
});

describe('the most within a length', () => {
  it('is what the search of all intervals finds', () => {
    const random = mulberry32(8);
    for (let run = 0; run < 200; run++) {
      const admissions = randomAdmissions(random);
      let most = 0;
      everyInterval(admissions, (length, cost) => {
        if (length < 300_000) most = Math.max(most, cost);
      });
      expect(mostWithin(admissions.toReversed(), 300_000)).toBe(most);
    }
  });
});

it('the cost of an aligned window counts from its start until before its end', () => {
  const admissions = [{ at: 9 }, { at: 10, cost: 2 }, { at: 19 }, { at: 20 }];
  expect([...costByWindow(admissions, 10)]).toEqual([
    [0, 1],
    [1, 3],
    [2, 1],
  ]);
});
