import { describe, expect, it } from '@jest/globals';
import { assert, double, property, tuple } from 'fast-check';
import { histories } from '../../../test/support/property-runs.js';
import { CITY } from './city.js';
import { END_SECONDS, stateAt, type WorldState } from './hero.js';

const SIDES = ['without', 'within'] as const;
const anySecond = double({ min: 0, max: END_SECONDS + 1, noNaN: true });

const ended = ({ served, refused, failed }: WorldState): number => served + refused + failed;

describe('the state at an instant', () => {
  it('counts each request once, and never takes one back', () => {
    const law = property(
      tuple(anySecond, anySecond).map((two) => two.toSorted((a, b) => a - b)),
      ([early, late]) => {
        for (const side of SIDES) {
          const [before, after] = [stateAt(early!)[side], stateAt(late!)[side]];
          for (const state of [before, after]) expect(ended(state) + state.waiting).toBe(state.sent);
          for (const name of ['sent', 'served', 'refused', 'failed'] as const) {
            expect(after[name]).toBeGreaterThanOrEqual(before[name]);
          }
        }
      },
    );
    assert(law, histories(0.5));
  });

  it('ends with what the headline says: more riders served, and the others know in milliseconds', () => {
    const { without, within } = stateAt(END_SECONDS + 0.001);
    expect(within.served / without.served).toBeGreaterThan(1.5);
    expect(without.failedShare).toBeGreaterThan(0.8);
    expect(without.waitMs).toBeCloseTo(CITY.patienceMs, 6);
    expect(within.failedShare).toBe(0);
    expect(within.waitMs).toBeLessThan(100);
  });
});
