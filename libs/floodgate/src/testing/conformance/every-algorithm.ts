import type { Algorithm, AlgorithmName } from '../../algorithms/core/algorithm.js';
import { ALGORITHM_NAMES } from '../../algorithms/algorithms.js';
import { MILLISECOND, ORIGIN, SECOND } from './instants.js';
import { eachOf, type Laws, type OpenTimeline } from './laws.js';
import { expectFields, expectSame } from './same.js';
import { algorithmOf, SMALL_POLICIES } from './small-policies.js';

const TAKEN = 3;
const WINDOWS = ['fixed-window', 'sliding-window-log', 'sliding-window-counter'] as const;

/** A law for each algorithm, with a small policy of it. */
function forEach(title: string, law: (open: OpenTimeline, algorithm: Algorithm) => Promise<void>): Laws {
  const of = (name: AlgorithmName) => (open: OpenTimeline) => law(open, algorithmOf(SMALL_POLICIES[name]));
  return eachOf(ALGORITHM_NAMES, (name) => `${name}: ${title}`, of);
}

/** What holds for the states of one key, whatever the algorithm. */
export const EVERY_ALGORITHM: Laws = {
  ...forEach('rejects a microsecond before retryAfter, and allows at it', async (open, algorithm) => {
    for (let cost = 1; cost <= algorithm.maxCost; cost++) {
      const timeline = await open();
      for (let i = 0; i < algorithm.maxCost; i++) await timeline.charge(i * 70 * MILLISECOND, algorithm, 1, `${cost}`);
      const at = 300 * MILLISECOND;
      const rejected = await timeline.charge(at, algorithm, cost, `${cost}`);
      expectFields(`cost ${cost} of a full limit`, rejected, { allowed: false });
      const { retryAfter } = rejected;
      expectFields(
        `cost ${cost}, a microsecond before retryAfter`,
        await timeline.charge(at + retryAfter - 1, algorithm, cost, `${cost}`),
        { allowed: false, retryAfter: 1 },
      );
      const allowed = await timeline.charge(at + retryAfter, algorithm, cost, `${cost}`);
      expectFields(`cost ${cost}, at retryAfter`, allowed, { allowed: true });
    }
  }),

  ...forEach('has its whole limit again at resetAfter, and not a microsecond before', async (open, algorithm) => {
    const timeline = await open();
    const { resetAfter } = await timeline.charge(0, algorithm, algorithm.maxCost);
    const before = await timeline.charge(resetAfter - 1, algorithm, 0);
    expectFields('a microsecond before the reset', before, { resetAfter: 1 });
    // The departing request of a leaky bucket takes no waiting place, so `remaining` can be `limit` before the reset.
    const isLess = before.remaining < algorithm.maxCost;
    expectSame('the whole cost does not remain before the reset', { isLess }, { isLess: true });
    expectFields('at the reset', await timeline.charge(resetAfter, algorithm, 0), {
      remaining: algorithm.limit,
      allowed: true,
    });
    const whole = await timeline.charge(resetAfter, algorithm, algorithm.maxCost);
    expectFields('the whole cost at the reset', whole, { allowed: true });
  }),

  ...forEach('answers a cost that can never fit with an infinite retryAfter', async (open, algorithm) => {
    const timeline = await open();
    for (const cost of [algorithm.maxCost + 1, 1_000_000, Number.MAX_SAFE_INTEGER]) {
      const untouched = await timeline.charge(0, algorithm, cost);
      const expected = { allowed: false, retryAfter: Infinity, remaining: algorithm.limit };
      expectFields(`cost ${cost}`, untouched, expected);
    }
    expectFields('then the whole cost', await timeline.charge(0, algorithm, algorithm.maxCost), { allowed: true });
  }),

  ...eachOf(
    ALGORITHM_NAMES,
    (name) => `${name}: rejects everything at a limit of 0, without a time, whatever was counted before`,
    (name) => async (open) => {
      const timeline = await open();
      const given = SMALL_POLICIES[name];
      const nothing = algorithmOf('capacity' in given ? { ...given, capacity: 0 } : { ...given, limit: 0 });
      const never = { allowed: false, remaining: 0, retryAfter: Infinity, delay: 0 };
      for (const before of [0, 3]) {
        const key = `after ${before}`;
        for (let i = 0; i < before; i++) await timeline.charge(0, algorithmOf(given), 1, key);
        for (const at of [0, SECOND / 2, 3 * SECOND]) {
          for (const cost of [0, 1, 2, 1_000_000]) {
            expectFields(`cost ${cost} at ${at}`, await timeline.charge(at, nothing, cost, key), never);
          }
        }
        // The rejected charge has counted nothing.
        expectFields('then the whole cost', await timeline.charge(3 * SECOND, algorithmOf(given), 3, key), {
          allowed: true,
        });
      }
    },
  ),

  ...forEach('a peek changes nothing', async (open, algorithm) => {
    const timeline = await open();
    const first = await timeline.charge(0, algorithm, 0);
    expectFields('the first peek', first, { allowed: true, remaining: algorithm.limit, delay: 0 });
    for (let i = 0; i < 10; i++) expectSame('the next peek', await timeline.charge(0, algorithm, 0), first);
    expectFields('then the whole cost', await timeline.charge(0, algorithm, algorithm.maxCost), { allowed: true });
  }),

  ...forEach('keeps keys apart', async (open, algorithm) => {
    const timeline = await open();
    await timeline.charge(0, algorithm, algorithm.maxCost, 'one');
    expectFields('the key that is full', await timeline.charge(0, algorithm, 1, 'one'), { allowed: false });
    expectFields('another key', await timeline.charge(0, algorithm, 0, 'other'), {
      allowed: true,
      remaining: algorithm.limit,
    });
  }),

  ...forEach('resets the given keys only', async (open, algorithm) => {
    const timeline = await open();
    for (const key of ['one', 'two', 'three']) await timeline.charge(0, algorithm, TAKEN, key);
    const kept = await timeline.charge(0, algorithm, 0, 'three');
    await timeline.reset('one', 'two', 'unknown');
    for (const key of ['one', 'two']) {
      expectFields('a key that was reset', await timeline.charge(0, algorithm, 0, key), { remaining: algorithm.limit });
    }
    expectSame('a key that was not', await timeline.charge(0, algorithm, 0, 'three'), kept);
  }),

  ...eachOf(
    WINDOWS,
    (name) => `${name}: keeps its count when its limit is raised or lowered`,
    (name) => async (open) => {
      const timeline = await open();
      const of = (limit: number): Algorithm => algorithmOf({ algorithm: name, limit, window: '1s' });
      await timeline.charge(0, of(10), 4);
      expectFields('4 of 10 taken', await timeline.charge(0, of(10), 0), { remaining: 6 });
      expectFields('then of 20', await timeline.charge(0, of(20), 0), { remaining: 16 });
      expectFields('then of 2', await timeline.charge(0, of(2), 1), { allowed: false, remaining: 0 });
    },
  ),

  'decides at the instant of its clock, and returns it': async (open) => {
    const algorithm = algorithmOf(SMALL_POLICIES['token-bucket']);
    const timeline = await open();
    for (const at of [0, 1, SECOND + 1]) {
      expectFields('the instant of the verdict', await timeline.ask(at, [algorithm, 1]), { at: ORIGIN + at });
    }
  },
};
