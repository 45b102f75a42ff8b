import { expect, it } from '@jest/globals';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../support/algorithm-of.js';
import { describeForEveryStore, MILLISECOND, ORIGIN, SECOND } from './conformance.js';

const TAKEN = 3;
const WINDOWS = ['fixed-window', 'sliding-window-log', 'sliding-window-counter'] as const;

describeForEveryStore('every algorithm', (open) => {
  it.each(ALL_ALGORITHMS)('%s: rejects a microsecond before retryAfter, and allows at it', async (name) => {
    const algorithm = algorithmOf(SMALL_POLICIES[name]);
    for (let cost = 1; cost <= algorithm.maxCost; cost++) {
      const timeline = open();
      for (let i = 0; i < algorithm.maxCost; i++) await timeline.charge(i * 70 * MILLISECOND, algorithm, 1, `${cost}`);
      const at = 300 * MILLISECOND;
      const { retryAfter, allowed } = await timeline.charge(at, algorithm, cost, `${cost}`);
      expect({ cost, allowed }).toEqual({ cost, allowed: false });
      expect(await timeline.charge(at + retryAfter - 1, algorithm, cost, `${cost}`)).toMatchObject({
        allowed: false,
        retryAfter: 1,
      });
      expect(await timeline.charge(at + retryAfter, algorithm, cost, `${cost}`)).toMatchObject({ allowed: true });
    }
  });

  it.each(ALL_ALGORITHMS)('%s: has its whole limit again at resetAfter, and not a microsecond before', async (name) => {
    const algorithm = algorithmOf(SMALL_POLICIES[name]);
    const timeline = open();
    const { resetAfter } = await timeline.charge(0, algorithm, algorithm.maxCost);
    // In a leaky bucket the departing request takes no waiting place, so `remaining` can be `limit` before the reset.
    const before = await timeline.charge(resetAfter - 1, algorithm, 0);
    expect(before.resetAfter).toBe(1);
    expect(before.remaining).toBeLessThan(algorithm.maxCost);
    expect(await timeline.charge(resetAfter, algorithm, 0)).toMatchObject({
      remaining: algorithm.limit,
      allowed: true,
    });
    expect(await timeline.charge(resetAfter, algorithm, algorithm.maxCost)).toMatchObject({ allowed: true });
  });

  it.each(ALL_ALGORITHMS)('%s: answers a cost that can never fit with an infinite retryAfter', async (name) => {
    const algorithm = algorithmOf(SMALL_POLICIES[name]);
    const timeline = open();
    for (const cost of [algorithm.maxCost + 1, 1_000_000, Number.MAX_SAFE_INTEGER]) {
      const untouched = await timeline.charge(0, algorithm, cost);
      expect(untouched).toMatchObject({ allowed: false, retryAfter: Infinity, remaining: algorithm.limit });
    }
    expect(await timeline.charge(0, algorithm, algorithm.maxCost)).toMatchObject({ allowed: true });
  });

  it.each(ALL_ALGORITHMS)('%s: a peek changes nothing', async (name) => {
    const algorithm = algorithmOf(SMALL_POLICIES[name]);
    const timeline = open();
    const first = await timeline.charge(0, algorithm, 0);
    expect(first).toMatchObject({ allowed: true, remaining: algorithm.limit, delay: 0 });
    for (let i = 0; i < 10; i++) expect(await timeline.charge(0, algorithm, 0)).toEqual(first);
    expect(await timeline.charge(0, algorithm, algorithm.maxCost)).toMatchObject({ allowed: true });
  });

  it.each(ALL_ALGORITHMS)('%s: keeps keys apart', async (name) => {
    const algorithm = algorithmOf(SMALL_POLICIES[name]);
    const timeline = open();
    await timeline.charge(0, algorithm, algorithm.maxCost, 'one');
    expect(await timeline.charge(0, algorithm, 1, 'one')).toMatchObject({ allowed: false });
    expect(await timeline.charge(0, algorithm, 0, 'other')).toMatchObject({
      allowed: true,
      remaining: algorithm.limit,
    });
  });

  it.each(ALL_ALGORITHMS)('%s: resets the given keys only', async (name) => {
    const algorithm = algorithmOf(SMALL_POLICIES[name]);
    const timeline = open();
    for (const key of ['one', 'two', 'three']) await timeline.charge(0, algorithm, TAKEN, key);
    const kept = await timeline.charge(0, algorithm, 0, 'three');
    await timeline.reset('one', 'two', 'unknown');
    for (const key of ['one', 'two']) {
      expect(await timeline.charge(0, algorithm, 0, key)).toMatchObject({ remaining: algorithm.limit });
    }
    expect(await timeline.charge(0, algorithm, 0, 'three')).toEqual(kept);
  });

  it.each(WINDOWS)('%s: keeps its count when its limit is raised or lowered', async (name) => {
    const timeline = open();
    const of = (limit: number) => algorithmOf({ algorithm: name, limit, window: '1s' });
    await timeline.charge(0, of(10), 4);
    expect(await timeline.charge(0, of(10), 0)).toMatchObject({ remaining: 6 });
    expect(await timeline.charge(0, of(20), 0)).toMatchObject({ remaining: 16 });
    expect(await timeline.charge(0, of(2), 1)).toMatchObject({ allowed: false, remaining: 0 });
  });

  it('decides at the instant of its clock, and returns it', async () => {
    const algorithm = algorithmOf(SMALL_POLICIES['token-bucket']);
    const timeline = open();
    for (const at of [0, 1, SECOND + 1])
      expect(await timeline.ask(at, [algorithm, 1])).toMatchObject({ at: ORIGIN + at });
  });
});
