import { describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { RateLimitStore, ChargeReceipt, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { contentsOf, useRedis } from '../support/redis-fixture.js';
import { TestClock } from '../support/test-clock.js';

const DAY = 86_400_000_000;
const redis = useRedis();

// What a refund gives back, in any history: test/equivalence/settle.spec.ts and settled-turns.clients.spec.ts.
describe('a refund', () => {
  it('of a log that has become a list: removes the entries of the charge', async () => {
    const algorithm = algorithmOf({ algorithm: 'sliding-window-log', limit: 1000, window: 60_000 });
    let now = 1_700_000_000_000_000;
    const store = new RedisStore(redis.client, { clock: () => now });
    const ask = async (cost: number): Promise<ChargeReceipt> => {
      const charge = { key: 'log', algorithm, cost };
      const { at, charges } = await store.consume([charge]);
      now += 10;
      return { ...charge, at, resetAt: at + charges[0]!.resetAfter };
    };
    const taken = [await ask(200), await ask(300), await ask(100)];
    expect(await redis.client.type('log')).toBe('list');
    await store.refund([taken[1]!]);
    expect((await ask(0)).resetAt).toBe(taken[2]!.resetAt);
    const left = (await contentsOf(redis.client, ['log']))[0]!.split(' ')[1]!.split(',');
    expect(left).toEqual([
      ...Array<string>(200).fill(`${taken[0]!.at}`),
      ...Array<string>(100).fill(`${taken[2]!.at}`),
    ]);
    await store.refund([taken[0]!, taken[2]!]);
    expect(await redis.client.exists('log')).toBe(0);
  });

  it('of a log whose other entries expired long ago: is made in Redis as in memory', async () => {
    const algorithm = algorithmOf({ algorithm: 'sliding-window-log', limit: 120, window: '1d' });
    const clock = new TestClock(19_900 * DAY);
    const answersOf = async (store: RateLimitStore): Promise<Verdict[]> => {
      clock.now = 19_900 * DAY;
      await store.consume([{ key: 'log', algorithm, cost: 1 }]);
      clock.now += 0.8 * DAY;
      const charge = { key: 'log', algorithm, cost: 119 };
      const { at, charges } = await store.consume([charge]);
      clock.now += 0.9 * DAY; // the first entry expired 0.7 days ago
      await store.refund!([{ ...charge, at, resetAt: at + charges[0]!.resetAfter }]);
      return [await store.consume([{ ...charge, cost: 0 }]), await store.consume([{ ...charge, cost: 120 }])];
    };
    const answers = await answersOf(new RedisStore(redis.client, { clock: clock.read }));
    expect(answers).toEqual(await answersOf(new MemoryStore({ clock: clock.read })));
    expect(answers.map(({ charges }) => charges[0]!.remaining)).toEqual([120, 0]);
  });

  it('of a state that is gone or unreadable: writes nothing', async () => {
    const store = new RedisStore(redis.client);
    const taken = (key: string): ChargeReceipt => ({
      key,
      algorithm: algorithmOf({ algorithm: 'fixed-window', limit: 5, window: '1h' }),
      cost: 1,
      at: 1_700_000_000_000_000,
      resetAt: 1_700_000_000_000_001,
    });
    await redis.client.set('text', 'text');
    await redis.client.hset('foreign', 'a', 'b');
    await store.refund(['text', 'foreign', 'gone'].map(taken));
    expect(await redis.client.get('text')).toBe('text');
    expect(await redis.client.hgetall('foreign')).toEqual({ a: 'b' });
    expect(await redis.client.exists('gone')).toBe(0);
  });
});
