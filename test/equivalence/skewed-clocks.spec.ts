import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { RedisStore, type Policy } from 'nestjs-floodgate';
import { algorithmOf } from '../support/algorithm-of.js';
import { histories as runs, HISTORY_TIMEOUT_MS, SEED } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';

const START = 1_700_000_000_000_000;
const LIMIT = 5;
const RATE = 20;
const WINDOW_MS = 250;

/** By how many the admissions exceed the bound. `at` holds their true instants in milliseconds, in order. */
type Beyond = (at: readonly number[], skewMs: number) => number;

/** The bound of a bucket for t seconds: burst + rate x (t + skew). */
function byRate(burst: number): Beyond {
  return (at, skewMs) => {
    let [beyond, lowest] = [0, Infinity];
    for (const [i, time] of at.entries()) {
      lowest = Math.min(lowest, i - (RATE * time) / 1000);
      beyond = Math.max(beyond, i + 1 - (RATE * time) / 1000 - lowest - burst - (RATE * skewMs) / 1000);
    }
    return Math.ceil(beyond - 1e-6);
  };
}

/** The bound of the log: the limit in an interval as long as the window minus the skew. */
const byLog: Beyond = (at, skewMs) => {
  const within = (time: number): number => at.filter((one) => one <= time && one > time - (WINDOW_MS - skewMs)).length;
  return Math.max(0, ...at.map((time) => within(time) - LIMIT));
};

/** The bound of windows: the limit in each window of one of the clocks. */
const byWindows: Beyond = (at, skewMs) => {
  const windowOf = (time: number): number => Math.floor((START / 1000 + time) / WINDOW_MS);
  return at.length === 0 ? 0 : at.length - LIMIT * (1 + windowOf(at.at(-1)! + skewMs) - windowOf(at[0]!));
};

const CASES: readonly (readonly [Policy, Beyond])[] = [
  [{ algorithm: 'token-bucket', capacity: LIMIT, refill: RATE }, byRate(LIMIT)],
  // The departing request of a queue takes no waiting place.
  [{ algorithm: 'leaky-bucket', capacity: LIMIT, drain: RATE }, byRate(LIMIT + 1)],
  [{ algorithm: 'fixed-window', limit: LIMIT, window: WINDOW_MS }, byWindows],
  [{ algorithm: 'sliding-window-log', limit: LIMIT, window: WINDOW_MS }, byLog],
  [{ algorithm: 'sliding-window-counter', limit: LIMIT, window: WINDOW_MS }, byWindows],
];

describe("processes that decide by clocks up to maxSkew apart, with clock: 'app'", () => {
  const redis = useRedis();
  let histories = 0;

  it.each(CASES)(
    'admit at most the bound of docs/redis.md: $algorithm',
    async (policy, beyond) => {
      const steps = fc.array(
        fc.record({
          waitMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 10 }), fc.integer({ min: 0, max: 300 })),
          ahead: fc.boolean(),
          times: fc.integer({ min: 1, max: 8 }),
        }),
        { minLength: 5, maxLength: 30 },
      );
      const skews = fc.oneof(fc.integer({ min: 0, max: WINDOW_MS - 1 }), fc.constant(WINDOW_MS - 1));
      await fc.assert(
        fc.asyncProperty(steps, skews, fc.constantFrom(0, 1, 50), async (todo, skewMs, spareMs) => {
          const now = { ms: 0 };
          const stores = [0, skewMs].map(
            (aheadMs) =>
              new RedisStore(redis.client, {
                clock: () => START + (now.ms + aheadMs) * 1000,
                maxSkew: skewMs + spareMs,
              }),
          );
          const charges = [
            { key: `${policy.algorithm}-${SEED}-${histories++}`, algorithm: algorithmOf(policy), cost: 1 },
          ];
          const admitted: number[] = [];
          for (const { waitMs, ahead, times } of todo) {
            now.ms += waitMs;
            const asked = Array.from({ length: times }, () => stores[Number(ahead)]!.consume(charges));
            for (const { allowed } of await Promise.all(asked)) if (allowed) admitted.push(now.ms);
          }
          expect(beyond(admitted, skewMs)).toBeLessThanOrEqual(0);
        }),
        runs(0.2),
      );
    },
    HISTORY_TIMEOUT_MS,
  );
});
