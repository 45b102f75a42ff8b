import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Charge, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../support/algorithm-of.js';
import { record } from '../support/faults/record.js';
import { contentsOf, useRedis } from '../support/redis-fixture.js';
import { TestClock } from '../support/test-clock.js';

const START = 19_900 * 86_400_000_000;
const LIMIT = '4mb';
const redis = useRedis(['--maxmemory', LIMIT, '--maxmemory-policy', 'noeviction']);
const log = algorithmOf({ algorithm: 'sliding-window-log', limit: 2_000, window: '1m' });

/** Fills Redis beyond its limit: the memory of its connections changes from moment to moment. */
async function fill(): Promise<void> {
  for (let i = 0; ; i++) {
    const answer = await redis.client.set(`ballast ${i}`, 'x'.repeat(100_000)).catch((error: Error) => error);
    if (answer instanceof Error) break;
  }
  await redis.client.config('SET', 'maxmemory', '3mb');
  await expect(redis.client.set('one more', 'x')).rejects.toThrow('OOM');
}

describe('a Redis whose memory is full (noeviction)', () => {
  const clock = new TestClock();
  let store: RedisStore;
  let memory: MemoryStore;

  beforeEach(async () => {
    await redis.client.config('SET', 'maxmemory', LIMIT);
    clock.now = START;
    store = new RedisStore(redis.client, { clock: clock.read, maxSkew: 0 });
    memory = new MemoryStore({ clock: clock.read });
  });

  /** One batch: a charge of every algorithm on existing and on new keys, and logs that are lists or become lists. */
  function batch(): Charge[][] {
    const alone = ALL_ALGORITHMS.flatMap((name) =>
      ['old', 'new'].map((key): Charge[] => [
        { key: `${key} ${name}`, algorithm: algorithmOf(SMALL_POLICIES[name]), cost: 1 },
      ]),
    );
    const logs = ['old', 'new'].map((key): Charge[] => [{ key: `${key} list`, algorithm: log, cost: 200 }]);
    return [...alone, ...logs, [...alone[0]!, ...alone[3]!], alone[4]!.map((charge) => ({ ...charge, cost: 0 }))];
  }

  async function prepare(): Promise<void> {
    for (const charges of batch().filter(([charge]) => charge!.key.startsWith('old'))) {
      expect(await store.consume(charges)).toEqual(memory.consume(charges));
    }
    expect(await redis.client.type('old list')).toBe('list');
  }

  it('writes nothing of a batch, fails each of its requests, and continues from its old state when there is room', async () => {
    await prepare();
    await fill();
    const keys = [...new Set(batch().flatMap((charges) => charges.map(({ key }) => key)))];
    const before = await contentsOf(redis.client, keys);
    for (let i = 0; i < 5; i++) {
      const answers = await Promise.allSettled(batch().map((charges) => store.consume(charges)));
      const failure = { name: 'RateLimitStoreError', message: expect.stringContaining('OOM') };
      for (const answer of answers) {
        expect(answer).toEqual({ status: 'rejected', reason: expect.objectContaining(failure) });
      }
    }
    expect(await contentsOf(redis.client, keys)).toEqual(before);
    await redis.client.del(...(await redis.client.keys('ballast*')));
    await redis.client.config('SET', 'maxmemory', LIMIT);
    const wanted = batch().map((charges) => memory.consume(charges));
    const verdicts = await Promise.all(batch().map((charges) => store.consume(charges)));
    // After a batch that was written in part, some keys would have less left than they should.
    const left = (all: readonly Verdict[]): number[] =>
      all.flatMap(({ charges }) => charges.map(({ remaining }) => remaining));
    const [seen, right] = [left(verdicts), left(wanted)];
    const doubles = seen.filter((remaining, i) => remaining < right[i]!).length;
    const overAdmissions = seen.filter((remaining, i) => remaining > right[i]!).length;
    record('OOM: nothing half-written', { answers: [], doubles, overAdmissions });
    expect(verdicts).toEqual(wanted);
  });

  it('writes nothing when a log would become a list, nor of lists that lie alone in a batch', async () => {
    await store.consume([{ key: 'string', algorithm: log, cost: 100 }]);
    for (const key of ['list', 'other list']) await store.consume([{ key, algorithm: log, cost: 200 }]);
    await fill();
    const keys = ['string', 'none yet', 'list', 'other list'];
    const before = await contentsOf(redis.client, keys);
    for (const key of keys.slice(0, 2)) {
      await expect(store.consume([{ key, algorithm: log, cost: 200 }])).rejects.toThrow('OOM');
    }
    const lists = keys.slice(2).map((key) => store.consume([{ key, algorithm: log, cost: 3 }]));
    expect((await Promise.allSettled(lists)).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await contentsOf(redis.client, keys)).toEqual(before);
  });

  it('writes nothing or all when a list has to lose entries first', async () => {
    const keys = ['one', 'two', 'three'];
    for (const key of keys) await store.consume([{ key, algorithm: log, cost: 200 }]);
    await fill();
    clock.now -= 1_000_000; // all entries lie ahead and are rebased: a list is cut before it grows
    const before = await contentsOf(redis.client, keys);
    const answers = await Promise.allSettled(keys.map((key) => store.consume([{ key, algorithm: log, cost: 1 }])));
    const statuses = new Set(answers.map(({ status }) => status));
    const after = await contentsOf(redis.client, keys);
    expect(statuses.size).toBe(1);
    expect(new Set(after).size).toBe(1);
    expect(after[0] === before[0]).toBe(statuses.has('rejected'));
    expect(await redis.client.llen('one')).toBe(statuses.has('rejected') ? 200 : 201);
  });

  it('answers peeks and rejections, which write nothing', async () => {
    await prepare();
    await fill();
    for (const name of ALL_ALGORITHMS) {
      const charge = { key: `old ${name}`, algorithm: algorithmOf(SMALL_POLICIES[name]), cost: 0 };
      for (const cost of [0, 4]) {
        expect(await store.consume([{ ...charge, cost }])).toEqual(memory.consume([{ ...charge, cost }]));
      }
    }
  });
});
