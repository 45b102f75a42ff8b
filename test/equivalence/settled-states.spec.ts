import { describe, expect, it } from '@jest/globals';
import { PrefetchBucket } from '../../libs/floodgate/src/algorithms/token-bucket/prefetch-bucket.js';
import { exactRate } from '../../libs/floodgate/src/algorithms/core/rate.js';
import { TokenBucket } from '../../libs/floodgate/src/algorithms/token-bucket/token-bucket.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { ChargeReceipt, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { expiryOf, useRedis } from '../support/redis-fixture.js';
import { settledTail } from '../support/settled-tail.js';
import { TestClock } from '../support/test-clock.js';

const SECOND = 1_000_000;
const NOW = 1_700_000_000 * SECOND;
/** 10 tokens, and one more each second: full again after 10 s. */
const BUCKET = algorithmOf({ algorithm: 'token-bucket', capacity: 10, refill: 1 });
/** The module's store keeps a state a minute longer by a clock of the application. */
const MINUTE_MS = 60_000;

describe('the state of a token bucket in Redis', () => {
  const redis = useRedis();
  const clock = new TestClock(NOW);
  const own = (): RedisStore => new RedisStore(redis.client, { clock: clock.read, maxSkew: 0 });

  const charge = (cost: number, mode: 'take' | 'reserve' = 'take'): Promise<Verdict> =>
    own().consume([{ key: 'key', algorithm: BUCKET, cost, mode }]);
  const reserve = async (cost: number): Promise<ChargeReceipt> => (await charge(cost, 'reserve')).charges[0]!.receipt!;
  const settle = (receipt: ChargeReceipt, finalCost: number, overdraft = 0): Promise<unknown> =>
    own().settle([{ receipt, finalCost, overdraft }]);
  /** The state, with its tail's three doubles as text. */
  const state = async (): Promise<string> => {
    const raw = (await redis.client.getBuffer('key'))!;
    const colon = raw.indexOf(':');
    if (colon < 0 || raw.length !== colon + 25) return raw.toString();
    const tail = [1, 9, 17].map((at) => raw.readDoubleBE(colon + at));
    return [raw.subarray(0, colon).toString(), ...tail].join(':');
  };

  it('stays an instant alone until a settlement, reserved or not', async () => {
    clock.now = NOW;
    await charge(1);
    await charge(2, 'reserve');
    expect(await state()).toBe(`${NOW + 3 * SECOND}`);
  });

  it('counts what was refunded until no receipt needs it, and plain charges carry it along', async () => {
    clock.now = NOW;
    const since = Date.now();
    const receipt = await reserve(4);
    await settle(receipt, 1);
    const tail = `:${3 * SECOND}:${NOW + 10 * SECOND}:0`;
    expect(await state()).toBe(`${NOW + SECOND}${tail}`);
    await charge(2);
    expect(await state()).toBe(`${NOW + 3 * SECOND}${tail}`);
    expect((await charge(8)).allowed).toBe(false);
    expect(await expiryOf(redis.client, 'key')).toBeGreaterThanOrEqual(since + 10_000 + MINUTE_MS);
    // A reservation needs the total as long as it may be settled.
    clock.now += 5 * SECOND;
    await charge(1, 'reserve');
    expect(await state()).toBe(`${NOW + 6 * SECOND}:${3 * SECOND}:${NOW + 15 * SECOND}:0`);
    clock.now = NOW + 15 * SECOND;
    await charge(1);
    expect(await state()).toBe(`${NOW + 16 * SECOND}`);
  });

  it('says by how much a settlement has overdrawn it, so that no reader takes it for a clock that stepped back', async () => {
    clock.now = NOW;
    await settle(await reserve(10), 14, 3);
    expect(await state()).toBe(`${NOW + 13 * SECOND}:0:0:${3 * SECOND}`);
    expect((await charge(1)).charges[0]).toMatchObject({ allowed: false, retryAfter: 4 * SECOND, remaining: 0 });
    expect(await state()).toBe(`${NOW + 13 * SECOND}:0:0:${3 * SECOND}`);
    clock.now += 4 * SECOND;
    expect((await charge(1)).allowed).toBe(true);
    expect(await state()).toBe(`${NOW + 14 * SECOND}`);
  });

  const tailOf = (...numbers: [number, number, number]): Buffer =>
    Buffer.concat([Buffer.from(`${NOW}`), settledTail(...numbers)]);

  it.each<[string, Buffer | string]>([
    ...['1:2:3', `${NOW}:1:2`, `${NOW}:1:2:3:4`, `${NOW}:1:2:x`, `${NOW}:${'9'.repeat(17)}:2:3`].map(
      (text): [string, string] => [text, text],
    ),
    ['a negative number in its tail', tailOf(-1, 0, 0)],
    ['a fraction in its tail', tailOf(0, 0.5, 0)],
    ['NaN in its tail', tailOf(0, 0, NaN)],
    ['an infinite number in its tail', tailOf(Infinity, 0, 0)],
    ['a number above 2^53 - 1 in its tail', tailOf(0, 2 ** 53, 0)],
  ])('is unreadable as %s', async (_, raw) => {
    clock.now = NOW;
    const receipt = await reserve(4);
    await redis.client.set('key', raw);
    await expect(charge(1)).rejects.toThrow('unreadable state');
    await expect(settle(receipt, 1)).rejects.toThrow('unreadable state');
    expect(await redis.client.getBuffer('key')).toEqual(Buffer.from(raw));
  });

  it('is read with a tail of any bytes, before and behind a rest of ticks', async () => {
    clock.now = NOW;
    const most = 2 ** 53 - 1;
    await redis.client.set('key', Buffer.concat([Buffer.from(`${NOW + SECOND}`), settledTail(most, most, 0)]));
    expect((await charge(1)).charges[0]!.remaining).toBe(8);
    const counted = 2 ** 53 - 64; // the largest total of refunds
    expect(await state()).toBe(`${NOW + 2 * SECOND}:${counted}:${most}:0`);
    const third = algorithmOf({ algorithm: 'token-bucket', capacity: 10, refill: '3/1s' });
    await redis.client.set('third', Buffer.concat([Buffer.from(`${NOW + SECOND}2`), settledTail(7, most, 0)]));
    const store = own();
    expect((await store.consume([{ key: 'third', algorithm: third, cost: 1 }])).allowed).toBe(true);
    const raw = (await redis.client.getBuffer('third'))!;
    expect(raw.subarray(-25)).toEqual(settledTail(7, most, 0));
  });

  // ioredis 6 reads some whole numbers from 2^53 - 48 on as others: it adds the code of a digit before it subtracts that of '0'.
  it('counts refunds up to a total that every client reads as it is', async () => {
    const algorithm = algorithmOf({ algorithm: 'token-bucket', capacity: 1, refill: 0.0010000000000000005 });
    const store = new RedisStore(redis.client, { clock: () => 0 });
    for (let i = 0; i < 4; i++) {
      const { allowed, charges } = await store.consume([{ key: 'key', algorithm, cost: 1, mode: 'reserve' }]);
      expect(allowed).toBe(true);
      await store.settle([{ receipt: charges[0]!.receipt!, finalCost: 0, overdraft: 0 }]);
    }
  });
});

describe('the state of a prefetch bucket in Redis', () => {
  const redis = useRedis();
  const LENGTH = 100_000;
  const bucket = new PrefetchBucket(new TokenBucket(100, exactRate(1, 100)), LENGTH);

  it('is read with a tail that has the bytes of "/" and ":"', async () => {
    const now = NOW;
    const store = new RedisStore(redis.client, { clock: () => now, maxSkew: 0 });
    const tail = settledTail(7_370_229_280_604_160, 2 ** 53 - 1, 0);
    expect(tail.subarray(1, 7).toString('latin1')).toBe('C://:/');
    const end = Buffer.from(`/${Math.floor(now / LENGTH)}:20:0`);
    const state = Buffer.concat([Buffer.from(`${now + 3 * SECOND}`), tail, end]);
    await redis.client.set('key', state);
    expect((await store.consume([{ key: 'key', algorithm: bucket, cost: 1 }])).charges[0]!.remaining).toBe(79);
    const raw = (await redis.client.getBuffer('key'))!;
    expect(raw.subarray(16)).toEqual(Buffer.concat([tail, end]));
  });
});

describe('two policies of one settlement', () => {
  const redis = useRedis();

  it('are settled both or neither', async () => {
    const store = new RedisStore(redis.client);
    const window = algorithmOf({ algorithm: 'fixed-window', limit: 10, window: '300d' });
    const charges = [
      { key: 'one', algorithm: window, cost: 4, mode: 'reserve' as const },
      { key: 'two', algorithm: BUCKET, cost: 4, mode: 'reserve' as const },
    ];
    const { charges: verdicts } = await store.consume(charges);
    const settlements = verdicts.map(({ receipt }) => ({ receipt: receipt!, finalCost: 6, overdraft: 0 }));
    const before = await redis.client.get('one');
    await redis.client.set('two', 'text');
    await expect(store.settle(settlements)).rejects.toThrow('unreadable state');
    await expect(store.settle(settlements.toReversed())).rejects.toThrow('unreadable state');
    expect(await redis.client.get('one')).toBe(before);
    await redis.client.del('two');
    expect(await store.settle(settlements)).toEqual([
      { refunded: 0, charged: 2 },
      { refunded: 0, charged: 2 },
    ]);
  });
});
