import { describe, expect, it } from '@jest/globals';
import { assert, double, integer, property, record, tuple } from 'fast-check';
import { histories } from '../../../test/support/property-runs.js';
import { CITY } from './city.js';
import { beginOf, CAPACITY, captionOf, END_SECONDS, LEAD, rushOf, SETTINGS, stateAt, type WorldState } from './hero.js';

const SIDES = ['without', 'within'] as const;
const RUSH = rushOf(SETTINGS);
const anySecond = double({ min: 0, max: END_SECONDS + 1, noNaN: true });
const anySettings = record({ demand: integer({ min: 10, max: 140 }), limit: integer({ min: 5, max: 100 }) });

const ended = ({ served, refused, failed }: WorldState): number => served + refused + failed;

describe('the state at an instant', () => {
  it('counts each request once, and never takes one back', () => {
    const two = tuple(anySecond, anySecond).map((pair) => pair.toSorted((a, b) => a - b));
    const law = property(anySettings, two, (settings, [early, late]) => {
      const rush = rushOf(settings);
      for (const side of SIDES) {
        const [before, after] = [stateAt(rush, early!)[side], stateAt(rush, late!)[side]];
        for (const state of [before, after]) expect(ended(state) + state.waiting).toBe(state.sent);
        for (const name of ['sent', 'served', 'refused', 'failed'] as const) {
          expect(after[name]).toBeGreaterThanOrEqual(before[name]);
        }
      }
    });
    assert(law, histories(0.2));
  });

  it('ends with what the headline says: more riders served, and the others know in milliseconds', () => {
    const { without, within } = stateAt(RUSH, END_SECONDS + 0.001);
    expect(within.served / without.served).toBeGreaterThan(1.5);
    expect(without.failed / without.sent).toBeGreaterThan(0.8);
    expect(without.waitMs).toBeCloseTo(CITY.patienceMs, 6);
    expect(within.failed).toBe(0);
    expect(within.waitMs).toBeLessThan(200);
  });
});

describe('the film', () => {
  it('shows at each instant that the world with the limit serves a third more, and from its beginning', () => {
    const begin = beginOf(RUSH);
    for (let second = begin; second <= END_SECONDS; second += 0.1) {
      const { without, within } = stateAt(RUSH, second);
      expect({ second, lead: within.served / without.served >= LEAD }).toEqual({ second, lead: true });
    }
    expect(begin).toBeLessThan(END_SECONDS / 2);
    expect(stateAt(RUSH, begin).without.failed).toBeGreaterThan(0);
  });

  it('says at each of its stages what the picture shows', () => {
    const says = (second: number): string => captionOf(stateAt(RUSH, second), second >= END_SECONDS);
    expect(says(0.1)).toBe('Both sides keep up.');
    expect(says(2)).toBe('Without a limit, ahead for now: its queue grows.');
    expect(says(beginOf(RUSH))).toMatch(/^The queue is 3 s long: everyone leaves/);
    expect(says(END_SECONDS)).toBe('235 more rides, by saying no 707 times.');
  });

  it('speaks of a queue only where more riders come than the service can serve, whatever the visitor sets', () => {
    const law = property(anySettings, anySecond, (settings, second) => {
      const says = captionOf(stateAt(rushOf(settings), second), false);
      if (settings.demand <= CAPACITY) return says === 'Both sides keep up.';
      return !/on both sides/.test(says) || settings.limit > CAPACITY;
    });
    assert(law, histories());
  });

  it('ends with a sentence that is true, whatever the visitor sets', () => {
    const law = property(anySettings, (settings) => {
      const rush = rushOf(settings);
      const state = stateAt(rush, END_SECONDS);
      const { without, within } = state;
      const says = captionOf(state, true);
      const right =
        within.failed > 0
          ? settings.limit > CAPACITY && says.startsWith('The limit is higher than the 37')
          : within.served > without.served
            ? says.endsWith(`by saying no ${within.refused} times.`)
            : says.startsWith(within.refused > 0 ? 'The limit is lower than it has to be' : 'The service keeps up');
      expect({ settings, says, right }).toEqual({ settings, says, right: true });
    });
    assert(law, histories());
  });
});
