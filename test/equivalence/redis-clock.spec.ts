import { describe, expect, it } from '@jest/globals';
import { type Arbitrary, array, assert, asyncProperty, constantFrom, integer, nat, oneof, record } from 'fast-check';
import type { AlgorithmName } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Charge } from '../../libs/floodgate/src/stores/store.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import { ALL_ALGORITHMS, algorithmOf, policyWith, SMALL_POLICIES } from '../support/algorithm-of.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { contentsOf, expiryOf, timeOf, useRedis } from '../support/redis-fixture.js';
import { TestClock } from '../support/test-clock.js';

const MINUTE = 60_000_000;
const HOUR = 60 * MINUTE;
const redis = useRedis();

/** A policy of each algorithm whose state outlives the test. */
const SLOW = Object.fromEntries(
  ALL_ALGORITHMS.map((name) => [
    name,
    policyWith(name, { ...SMALL_POLICIES[name], refill: '4/m', drain: '4/m', window: '10m' }),
  ]),
) as Readonly<Record<AlgorithmName, Policy>>;

const count = integer({ min: 1, max: 20 });
const rate = integer({ min: 300, max: 70_000 });
/** Policies whose states begin and end during the test. */
const quick: Arbitrary<Policy> = oneof(
  record({ algorithm: constantFrom('token-bucket'), capacity: count, refill: rate }),
  record({ algorithm: constantFrom('leaky-bucket'), capacity: count, drain: rate }),
  record({
    algorithm: constantFrom('fixed-window', 'sliding-window-log', 'sliding-window-counter'),
    limit: count,
    window: integer({ min: 1, max: 5 }),
  }),
);

/** Charges all of a key by a clock that is ahead of Redis's, in Redis and in a memory store. */
async function chargedAhead(charge: Charge, by: number) {
  const clock = new TestClock((await timeOf(redis.client)) + by);
  const memory = new MemoryStore({ clock: clock.read });
  memory.consume([charge]);
  await new RedisStore(redis.client, { clock: clock.read }).consume([charge]);
  const [stored] = await contentsOf(redis.client, [charge.key]);
  return { clock, memory, stored };
}

describe('with the Redis clock', () => {
  it(
    'each request is decided at an instant of that clock, and states end by it',
    async () => {
      const asked = record({ policy: nat({ max: 2 }), cost: integer({ min: 0, max: 4 }) });
      const turns = array(array(asked, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 12 });
      const policies = array(quick, { minLength: 3, maxLength: 3 });
      const law = asyncProperty(policies, turns, async (given, requests) => {
        await redis.client.flushdb();
        const clock = new TestClock();
        const store = new RedisStore(redis.client);
        await store.connect(); // a store that is not loaded asks later than the next question of the clock
        const memory = new MemoryStore({ clock: clock.read });
        const algorithms = given.map(algorithmOf);
        for (const turn of requests) {
          const charges = turn.map(({ policy, cost }): Charge[] => [
            { key: `${policy}`, algorithm: algorithms[policy]!, cost },
          ]);
          const before = timeOf(redis.client); // sent first: a connection keeps the order
          const answers = charges.map((charge) => store.consume(charge));
          await new Promise(setImmediate);
          const after = timeOf(redis.client);
          const verdicts = await Promise.all(answers);
          const [earliest, latest] = [await before, await after];
          for (const [i, verdict] of verdicts.entries()) {
            expectHolds(earliest <= verdict.at && verdict.at <= latest, () => ({ earliest, verdict, latest }));
            clock.now = verdict.at;
            expectSame(verdict, memory.consume(charges[i]!));
          }
        }
      });
      await assert(law, histories());
    },
    HISTORY_TIMEOUT_MS,
  );

  it.each(ALL_ALGORITHMS)(
    '%s: a state an hour ahead is rebased at once, even by a rejection or a peek, or if another policy rejects',
    async (name) => {
      const algorithm = algorithmOf(SLOW[name]);
      const store = new RedisStore(redis.client);
      for (const cost of [1, algorithm.maxCost, 0]) {
        const charge = { key: `${cost}`, algorithm, cost };
        const { clock, memory, stored } = await chargedAhead({ ...charge, cost: algorithm.maxCost }, HOUR);
        const verdict = await store.consume([charge]);
        clock.now = verdict.at;
        expect(verdict).toEqual(memory.consume([charge]));
        expect(verdict.allowed).toBe(false);
        expect(verdict.charges[0]!.retryAfter).toBeLessThanOrEqual(20 * MINUTE);
        const [rebased] = await contentsOf(redis.client, [charge.key]);
        expect(rebased).not.toBe(stored);
        const ends = Math.ceil((verdict.at + verdict.charges[0]!.resetAfter) / 1_000_000) * 1000;
        expect(await expiryOf(redis.client, charge.key)).toBe(ends);
        // The rebased state is not written again: the bucket refills from it.
        await store.consume([charge]);
        expect(await contentsOf(redis.client, [charge.key])).toEqual([rebased]);
      }
      const other = { key: 'other', algorithm: algorithmOf(SLOW['fixed-window']), cost: 100 };
      const beside = { key: 'ahead', algorithm, cost: algorithm.maxCost };
      const { stored } = await chargedAhead(beside, HOUR);
      await store.consume([other, { ...beside, cost: 1 }]);
      expect(await contentsOf(redis.client, ['ahead', 'other'])).not.toContain(stored);
      expect(await redis.client.exists('other')).toBe(0);
    },
  );

  it.each(['token-bucket', 'leaky-bucket', 'sliding-window-log'] as const)(
    '%s: a state half a second ahead is rebased, too, because the Redis clock has no skew',
    async (name) => {
      const charge = { key: 'key', algorithm: algorithmOf(SLOW[name]), cost: 4 };
      const { clock, memory, stored } = await chargedAhead(charge, HOUR / 7_200);
      const verdict = await new RedisStore(redis.client, { maxSkew: 10_000 }).consume([charge]);
      clock.now = verdict.at;
      expect(verdict).toEqual(memory.consume([charge]));
      expect(await contentsOf(redis.client, ['key'])).not.toEqual([stored]);
    },
  );
});

describe("with an application's clock", () => {
  it.each(ALL_ALGORITHMS)(
    '%s: nothing within the skew is brought back, and a microsecond beyond it is',
    async (name) => {
      const algorithm = algorithmOf(SMALL_POLICIES[name]);
      const start = 19_900 * 24 * HOUR;
      const clock = new TestClock(start);
      const store = new RedisStore(redis.client, { clock: clock.read, maxSkew: 250 });
      await store.consume([{ key: 'key', algorithm, cost: algorithm.maxCost }]);
      const [stored] = await contentsOf(redis.client, ['key']);
      for (const back of [1, 1_000, 249_999, 250_000]) {
        clock.now = start - back;
        for (const cost of [0, 1, 2, 100]) {
          expect(await store.consume([{ key: 'key', algorithm, cost }])).toMatchObject({ allowed: false });
        }
        expect(await contentsOf(redis.client, ['key'])).toEqual([stored]);
      }
      clock.now = start - 250_001;
      expect(await store.consume([{ key: 'key', algorithm, cost: 1 }])).toMatchObject({ allowed: false });
      expect(await contentsOf(redis.client, ['key'])).not.toEqual([stored]);
    },
  );
});
