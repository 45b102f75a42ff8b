import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { BlockAlgorithm } from '../../libs/floodgate/src/algorithms/block/block.js';
import { EscalatingBlockAlgorithm } from '../../libs/floodgate/src/algorithms/block/escalating-block.js';
import type { BlockCharge, Charge } from '../../libs/floodgate/src/stores/charge.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { expiryOf, timeOf, useRedis } from '../support/redis-fixture.js';
import { TestClock } from '../support/test-clock.js';
import { MINUTE, ORIGIN, SECOND } from '../../libs/floodgate/src/testing/conformance/instants.js';

/** A policy, a cost that is charged at `ORIGIN`, and the microseconds until the state means the same as none. */
const LIFETIMES: readonly (readonly [policy: Policy, cost: number, lifetime: number])[] = [
  [{ algorithm: 'token-bucket', capacity: 5, refill: 1 }, 3, 3 * SECOND],
  [{ algorithm: 'token-bucket', capacity: 5, refill: 3 }, 1, 333_334],
  [{ algorithm: 'token-bucket', capacity: 5, refill: 1_000_000 }, 1, 1],
  [{ algorithm: 'token-bucket', capacity: 5, refill: 1_000_000_000 }, 1, 1],
  // A third of a microsecond more than a millisecond, which rounds up to the next microsecond.
  [{ algorithm: 'token-bucket', capacity: 5, refill: '3000/3001ms' }, 1, 1_001],
  [{ algorithm: 'leaky-bucket', capacity: 5, drain: 2 }, 1, SECOND / 2],
  [{ algorithm: 'leaky-bucket', capacity: 5, drain: 2 }, 6, 3 * SECOND],
  [{ algorithm: 'fixed-window', limit: 5, window: '1s' }, 1, SECOND],
  [{ algorithm: 'fixed-window', limit: 5, window: '1d' }, 5, 1_440 * MINUTE],
  [{ algorithm: 'sliding-window-log', limit: 5, window: '1s' }, 2, SECOND],
  [{ algorithm: 'sliding-window-log', limit: 500, window: '1s' }, 400, SECOND],
  [{ algorithm: 'sliding-window-counter', limit: 5, window: '1s' }, 1, 2 * SECOND],
];

const CASES = LIFETIMES.map(([policy, cost, lifetime]) => ({
  title: `${cost} of ${JSON.stringify(policy)}`,
  algorithm: algorithmOf(policy),
  cost,
  lifetime,
}));

/** The key expires so many milliseconds after its last write, which came at `since` or later. */
async function expectKept(client: Redis, key: string, kept: number, since: number): Promise<void> {
  const expiresAt = await expiryOf(client, key);
  expect(expiresAt).toBeGreaterThanOrEqual(since + kept);
  expect(expiresAt).toBeLessThanOrEqual(Date.now() + kept);
}

describe('expiry in Redis', () => {
  const redis = useRedis();

  it.each(CASES)('with the Redis clock: at the end of the second, for $title', async ({ algorithm, cost }) => {
    const store = new RedisStore(redis.client);
    for (let i = 0; i < 10; i++) {
      const { at, charges } = await store.consume([{ key: 'key', algorithm, cost }]);
      const expiresAt = await expiryOf(redis.client, 'key');
      const ends = Math.ceil((at + charges[0]!.resetAfter) / SECOND) * 1000;
      const isOver = expiresAt === -2 && (await timeOf(redis.client)) >= ends * 1000;
      expect(isOver ? ends : expiresAt).toBe(ends);
    }
  });

  it.each(CASES)('comes when the state means the same as none, and not a microsecond before: $title', async (given) => {
    const { algorithm, cost, lifetime } = given;
    const clock = new TestClock(ORIGIN);
    const store = new RedisStore(redis.client, { clock: clock.read, maxSkew: 0 });
    await store.consume([{ key: 'key', algorithm, cost }]);
    const told = async (key: string) => (await store.consume([{ key, algorithm, cost: 0 }])).charges;
    clock.now = ORIGIN + lifetime - 1;
    expect(await told('key')).not.toEqual(await told('unused'));
    clock.now = ORIGIN + lifetime;
    expect(await told('key')).toEqual(await told('unused'));
  });

  it.each(CASES)(
    'is with another clock a minute later, and set again by every charge alone: $title',
    async ({ algorithm, cost, lifetime }) => {
      const clock = new TestClock(ORIGIN);
      const store = new RedisStore(redis.client, { clock: clock.read });
      const kept = Math.ceil(lifetime / 1000) + 60_000;
      let since = Date.now();
      await store.consume([{ key: 'key', algorithm, cost }]);
      await expectKept(redis.client, 'key', kept, since);
      await redis.client.pexpire('key', 1_000_000_000);
      await store.consume([{ key: 'key', algorithm, cost: 0 }]);
      await store.consume([{ key: 'key', algorithm, cost: algorithm.maxCost + 1 }]);
      expect(await redis.client.pttl('key')).toBeGreaterThan(900_000_000);
      clock.now += lifetime;
      since = Date.now();
      await store.consume([{ key: 'key', algorithm, cost }]);
      await expectKept(redis.client, 'key', kept, since);
    },
  );

  it('never sets a time to live of 0 or less, however far the clock steps', async () => {
    const clock = new TestClock();
    const store = new RedisStore(redis.client, { clock: clock.read, maxSkew: 10_000 });
    for (const now of [ORIGIN, ORIGIN - 30_000_000, ORIGIN + 1_000_000 * MINUTE, 1, 0, ORIGIN - 9_000_000, ORIGIN]) {
      clock.now = now;
      for (const [i, { algorithm }] of CASES.entries()) await store.consume([{ key: `${i}`, algorithm, cost: 1 }]);
      for (const i of CASES.keys()) expect(await redis.client.pttl(`${i}`)).toBeGreaterThan(50_000);
    }
  });

  it('leaves no key behind if no request was charged', async () => {
    const store = new RedisStore(redis.client);
    for (const { algorithm } of CASES) {
      await store.consume([{ key: 'peeked', algorithm, cost: 0 }]);
      await store.consume([{ key: 'rejected', algorithm, cost: algorithm.maxCost + 1 }]);
    }
    expect(await redis.client.dbsize()).toBe(0);
  });
});

describe('the expiry of a block in Redis', () => {
  const redis = useRedis();
  const algorithm = algorithmOf({ algorithm: 'fixed-window', limit: 1, window: '1s' });
  const block = { key: 'block', algorithm: new BlockAlgorithm(3, 90 * SECOND + 1), cost: 1 };
  const ask = (store: RedisStore, more: Partial<Charge> = {}) =>
    store.consume([{ key: 'key', algorithm, cost: 1, block, ...more }]);

  /** Three rejections begin a block. The first one sets the expiry of their count, and the third one that of the block. */
  async function expectMoves(
    charge: BlockCharge,
    countEnds: (at: number) => number,
    blockEnds = countEnds,
  ): Promise<void> {
    const store = new RedisStore(redis.client);
    // Cost 2 never fits, so that each request is rejected in whichever window.
    const rejected = async (): Promise<number> => (await ask(store, { cost: 2, block: charge })).at;
    const secondOf = (at: number): number => Math.ceil(at / SECOND) * 1000;
    const counted = secondOf(countEnds(await rejected()));
    expect(await expiryOf(redis.client, 'block')).toBe(counted);
    await rejected();
    expect(await expiryOf(redis.client, 'block')).toBe(counted);
    const blocked = secondOf(blockEnds(await rejected()));
    for (let i = 0; i < 3; i++) {
      expect(await expiryOf(redis.client, 'block')).toBe(blocked);
      await rejected();
    }
    await ask(store, { cost: 0, block: { ...charge, cost: 0 } });
    expect(await expiryOf(redis.client, 'block')).toBe(blocked);
  }

  it('with the Redis clock is the end of its second, of the count and then of the block, and nothing else moves it', async () => {
    await expectMoves(block, (at) => at + block.algorithm.duration);
  });

  it('with another clock is a minute later, and it ends to the microsecond', async () => {
    const clock = new TestClock(ORIGIN);
    const store = new RedisStore(redis.client, { clock: clock.read });
    const since = Date.now();
    for (let i = 0; i < 4; i++) await ask(store);
    await expectKept(redis.client, 'block', 150_001, since);
    clock.now = ORIGIN + 90 * SECOND;
    expect((await ask(store)).charges).toMatchObject([{ allowed: false, blockedFor: 1, retryAfter: 1 }]);
    clock.now += 1;
    expect((await ask(store)).charges[0]!.allowed).toBe(true);
    // A clock that steps back finds the block that has ended, and it is as long as it was.
    clock.now -= 1;
    expect((await ask(store)).charges).toMatchObject([{ allowed: false, blockedFor: 1 }]);
  });

  it('keeps the state of a single duration as it was: an instant and a number', async () => {
    const store = new RedisStore(redis.client, { clock: () => ORIGIN });
    await ask(store, { cost: 2 });
    expect(await redis.client.get('block')).toBe(`${ORIGIN + 90 * SECOND + 1}1`);
  });

  describe('that escalates', () => {
    const FIRST = 10 * SECOND;
    const LONGEST = 90 * SECOND + 1;
    const escalating = { key: 'block', algorithm: new EscalatingBlockAlgorithm(3, [FIRST, LONGEST]), cost: 1 };
    const rejected = (store: RedisStore) => ask(store, { cost: 2, block: escalating });

    it('with the Redis clock is the end of the second in which the step is forgotten, and nothing else moves it', async () => {
      await expectMoves(
        escalating,
        (at) => at + FIRST,
        (at) => at + FIRST + LONGEST,
      );
    });

    it('with another clock is a minute later, whether the step or a count lasts longer', async () => {
      const clock = new TestClock(ORIGIN);
      const store = new RedisStore(redis.client, { clock: clock.read });
      const since = Date.now();
      /** Rejects so often, and expects that the state is kept so long and a minute. */
      const expectLasting = async (microseconds: number, times = 1): Promise<void> => {
        for (let i = 0; i < times; i++) await rejected(store);
        await expectKept(redis.client, 'block', Math.ceil(microseconds / 1000) + 60_000, since);
      };
      await expectLasting(FIRST + LONGEST, 3);
      clock.now = ORIGIN + FIRST + LONGEST - 2 * FIRST;
      await expectLasting(2 * FIRST);
      // The next count outlives the step.
      clock.now = ORIGIN + FIRST + LONGEST - 1;
      await expectLasting(FIRST);
      const state = (await redis.client.get('block'))!;
      expect([state.length, state.endsWith('011')]).toEqual([35, true]);
      // Once the step is forgotten, the state no longer has it.
      clock.now += 1;
      await expectLasting(FIRST - 1);
      expect(await redis.client.get('block')).toBe(`${clock.now - 1 + FIRST}${'0'.repeat(16)}002`);
    });

    it('leaves no key behind where nothing was rejected', async () => {
      await ask(new RedisStore(redis.client), { block: escalating });
      await ask(new RedisStore(redis.client), { key: 'other' });
      expect(await redis.client.exists('block')).toBe(0);
    });
  });
});

describe('expiry in memory', () => {
  it.each(CASES)('keeps a state a minute longer than it means something: $title', (given) => {
    const { algorithm, cost, lifetime } = given;
    const clock = new TestClock(ORIGIN);
    const store = new MemoryStore({ clock: clock.read });
    const other = algorithmOf({ algorithm: 'fixed-window', limit: 1_000, window: '1d' });
    const sweep = () => Array.from({ length: 5 }, () => store.consume([{ key: 'other', algorithm: other, cost: 1 }]));
    store.consume([{ key: 'key', algorithm, cost }]);
    clock.now = ORIGIN + lifetime + MINUTE - 1;
    sweep();
    expect(store.size).toBe(2);
    clock.now = ORIGIN + lifetime + MINUTE;
    sweep();
    expect(store.size).toBe(1);
  });
});
