import { describe, expect, it } from '@jest/globals';
import { type Arbitrary, array, assert, asyncProperty, constantFrom, integer, nat, oneof, record } from 'fast-check';
import type { AlgorithmName } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/rate-limit/src/stores/redis/redis.store.js';
import type { Charge } from '../../libs/rate-limit/src/stores/store.js';
import type { Policy } from '../../libs/rate-limit/src/policy/policy.js';
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
    policyWith(name, { ...SMALL_POLICIES[name], refill: '4/m', drain: '4/m', window: '1m' }),
  ]),
) as Readonly<Record<AlgorithmName, Policy>>;

/** Policies whose states begin and end during the test. */
const quick: Arbitrary<Policy> = oneof(
  record({
    algorithm: constantFrom('token-bucket'),
    capacity: integer({ min: 1, max: 20 }),
    refill: integer({ min: 300, max: 70_000 }),
  }),
  record({
    algorithm: constantFrom('leaky-bucket'),
    capacity: integer({ min: 1, max: 20 }),
    drain: integer({ min: 300, max: 70_000 }),
  }),
  record({
    algorithm: constantFrom('fixed-window', 'sliding-window-log', 'sliding-window-counter'),
    limit: integer({ min: 1, max: 20 }),
    window: integer({ min: 1, max: 5 }),
  }),
);

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
    '%s: a key expires at the end of the second in which its state ends, however often it was written',
    async (name) => {
      const store = new RedisStore(redis.client);
      // Slow, and so fast that some of the next states end in the same second and keep the expiry.
      const fast = { ...SLOW[name], capacity: 4000, limit: 4000, refill: '4000/m', drain: '4000/m' };
      for (const policy of [SLOW[name], policyWith(name, fast)]) {
        const algorithm = algorithmOf(policy);
        for (let i = 0; i < 100; i++) {
          const key = `${algorithm.limit}:${i % 40}`;
          const { at, allowed, charges } = await store.consume([{ key, algorithm, cost: 1 + (i % 3) }]);
          const ends = Math.ceil((at + charges[0]!.resetAfter) / 1_000_000) * 1000;
          expect([allowed || i >= 40, await expiryOf(redis.client, key)]).toEqual([true, ends]);
        }
      }
    },
  );

  it.each(ALL_ALGORITHMS)(
    '%s: a state an hour ahead is rebased at once, even by a rejection or a peek',
    async (name) => {
      const algorithm = algorithmOf(SLOW[name]);
      for (const cost of [1, algorithm.maxCost, 0]) {
        const key = `${cost}`;
        const charge = { key, algorithm, cost };
        const ahead = (await timeOf(redis.client)) + HOUR;
        const hourAhead = new RedisStore(redis.client, { clock: () => ahead });
        await hourAhead.consume([{ ...charge, cost: algorithm.maxCost }]);
        const [stored] = await contentsOf(redis.client, [key]);

        const clock = new TestClock();
        const memory = new MemoryStore({ clock: clock.read });
        clock.now = ahead;
        memory.consume([{ ...charge, cost: algorithm.maxCost }]);
        const store = new RedisStore(redis.client);
        const verdict = await store.consume([charge]);
        clock.now = verdict.at;
        expect(verdict).toEqual(memory.consume([charge]));
        expect(verdict.allowed).toBe(false);
        expect(verdict.charges[0]!.retryAfter).toBeLessThanOrEqual(2 * MINUTE);

        const [rebased] = await contentsOf(redis.client, [key]);
        expect(rebased).not.toBe(stored);
        const ends = Math.ceil((verdict.at + verdict.charges[0]!.resetAfter) / 1_000_000) * 1000;
        expect(await expiryOf(redis.client, key)).toBe(ends);
        // The rebased state is not written again: the bucket refills from it.
        await store.consume([charge]);
        expect(await contentsOf(redis.client, [key])).toEqual([rebased]);
      }
    },
  );

  it.each(['token-bucket', 'leaky-bucket', 'sliding-window-log'] as const)(
    '%s: a state half a second ahead is rebased, too, because the Redis clock has no skew',
    async (name) => {
      const charge = { key: 'key', algorithm: algorithmOf(SLOW[name]), cost: 4 };
      const clock = new TestClock((await timeOf(redis.client)) + 500_000);
      const memory = new MemoryStore({ clock: clock.read });
      memory.consume([charge]);
      await new RedisStore(redis.client, { clock: clock.read }).consume([charge]);
      const [stored] = await contentsOf(redis.client, ['key']);
      const verdict = await new RedisStore(redis.client, { maxSkew: 10_000 }).consume([charge]);
      clock.now = verdict.at;
      expect(verdict).toEqual(memory.consume([charge]));
      expect(await contentsOf(redis.client, ['key'])).not.toEqual([stored]);
    },
  );

  it.each(ALL_ALGORITHMS)(
    '%s: rebases a state that is ahead, even if another policy rejects the request',
    async (name) => {
      const algorithm = algorithmOf(SLOW[name]);
      const other = algorithmOf(SLOW['fixed-window']);
      const ahead = (await timeOf(redis.client)) + HOUR;
      const hourAhead = new RedisStore(redis.client, { clock: () => ahead });
      await hourAhead.consume([{ key: 'ahead', algorithm, cost: algorithm.maxCost }]);
      const [stored] = await contentsOf(redis.client, ['ahead']);
      const store = new RedisStore(redis.client);
      await store.consume([
        { key: 'other', algorithm: other, cost: 100 },
        { key: 'ahead', algorithm, cost: 1 },
      ]);
      expect(await contentsOf(redis.client, ['ahead', 'other'])).not.toContain(stored);
      expect(await redis.client.exists('other')).toBe(0);
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

  it.each(ALL_ALGORITHMS)('%s: two pods a skew apart admit together no more than one with its clock', async (name) => {
    const algorithm = algorithmOf(SMALL_POLICIES[name]);
    const start = 19_900 * 24 * HOUR;
    const clocks = [new TestClock(), new TestClock()] as const;
    const pods = clocks.map(({ read }) => new RedisStore(redis.client, { clock: read, maxSkew: 100 }));
    const alone = new MemoryStore({ clock: clocks[0].read });
    const admitted = { pods: 0, alone: 0 };
    for (let i = 0; i < 400; i++) {
      clocks[0].now = start + i * 10_000;
      clocks[1].now = clocks[0].now - 100_000;
      const charges = [{ key: 'key', algorithm, cost: 1 }];
      admitted.pods += Number((await pods[i % 2]!.consume(charges)).allowed);
      admitted.alone += Number(alone.consume(charges).allowed);
    }
    expect(admitted.pods).toBeGreaterThan(4);
    expect(admitted.pods).toBeLessThanOrEqual(admitted.alone);
  });
});
