import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/rate-limit/src/stores/redis/redis.store.js';
import type { Charge, Verdict } from '../../libs/rate-limit/src/stores/store.js';
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

async function makeRoom(): Promise<void> {
  await redis.client.del(...(await redis.client.keys('ballast*')));
  await redis.client.config('SET', 'maxmemory', LIMIT);
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

  /** One batch: a charge of every algorithm on existing and on new keys, and logs that are lists. */
  function batch(): Charge[][] {
    const alone = ALL_ALGORITHMS.flatMap((name) =>
      ['old', 'new'].map((key): Charge[] => [
        { key: `${key} ${name}`, algorithm: algorithmOf(SMALL_POLICIES[name]), cost: 1 },
      ]),
    );
    const logs = ['old', 'new'].map((key): Charge[] => [{ key: `${key} list`, algorithm: log, cost: 200 }]);
    return [...alone, ...logs, [...alone[0]!, ...alone[3]!], alone[4]!.map((charge) => ({ ...charge, cost: 0 }))];
  }

  async function prepare(): Promise<string[]> {
    const requests = batch();
    for (const charges of requests.filter(([charge]) => charge!.key.startsWith('old'))) {
      expect(await store.consume(charges)).toEqual(memory.consume(charges));
    }
    expect(await redis.client.type('old list')).toBe('list');
    return [...new Set(requests.flat().map(({ key }) => key))];
  }

  it('writes nothing of a batch, and fails each of its requests', async () => {
    const keys = await prepare();
    await fill();
    const before = await contentsOf(redis.client, keys);
    for (let i = 0; i < 3; i++) {
      const answers = await Promise.allSettled(batch().map((charges) => store.consume(charges)));
      const failure = { name: 'RateLimitStoreError', message: expect.stringContaining('OOM') };
      for (const answer of answers) {
        expect(answer).toEqual({ status: 'rejected', reason: expect.objectContaining(failure) });
      }
    }
    expect(await contentsOf(redis.client, keys)).toEqual(before);
  });

  it('writes nothing of a batch of logs that are lists', async () => {
    const keys = await prepare();
    await store.consume([{ key: 'other list', algorithm: log, cost: 200 }]);
    await fill();
    const lists = ['old list', 'other list'].map((key) => [{ key, algorithm: log, cost: 3 }]);
    const before = await contentsOf(redis.client, [...keys, 'other list']);
    const answers = await Promise.allSettled(lists.map((charges) => store.consume(charges)));
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await contentsOf(redis.client, [...keys, 'other list'])).toEqual(before);
  });

  it('writes nothing when a log would become a list', async () => {
    await store.consume([{ key: 'string', algorithm: log, cost: 100 }]);
    await fill();
    const before = await contentsOf(redis.client, ['string', 'none yet']);
    for (const key of ['string', 'none yet']) {
      await expect(store.consume([{ key, algorithm: log, cost: 200 }])).rejects.toThrow('OOM');
    }
    expect(await contentsOf(redis.client, ['string', 'none yet'])).toEqual(before);
  });

  it('writes nothing or all when a list has to lose entries first', async () => {
    for (const key of ['one', 'two', 'three']) await store.consume([{ key, algorithm: log, cost: 200 }]);
    await fill();
    clock.now -= 1_000_000; // all entries lie ahead and are rebased: a list is cut before it grows
    const requests = ['one', 'two', 'three'].map((key) => [{ key, algorithm: log, cost: 1 }]);
    const before = await contentsOf(redis.client, ['one', 'two', 'three']);
    const answers = await Promise.allSettled(requests.map((charges) => store.consume(charges)));
    const statuses = new Set(answers.map(({ status }) => status));
    const after = await contentsOf(redis.client, ['one', 'two', 'three']);
    expect(statuses.size).toBe(1);
    expect(new Set(after).size).toBe(1);
    expect(after[0] === before[0]).toBe(statuses.has('rejected'));
    const size = await redis.client.llen('one');
    expect(size).toBe(statuses.has('rejected') ? 200 : 201);
  });

  it('answers peeks and rejections, which write nothing', async () => {
    await prepare();
    await fill();
    for (const name of ALL_ALGORITHMS) {
      const charge = { key: `old ${name}`, algorithm: algorithmOf(SMALL_POLICIES[name]), cost: 0 };
      expect(await store.consume([charge])).toEqual(memory.consume([charge]));
      expect(await store.consume([{ ...charge, cost: 4 }])).toEqual(memory.consume([{ ...charge, cost: 4 }]));
    }
  });

  it('continues from its old state when there is room again', async () => {
    await prepare();
    await fill();
    const answers: number[] = [];
    for (let i = 0; i < 20; i++) {
      const since = performance.now();
      const failed = await Promise.allSettled(batch().map((charges) => store.consume(charges)));
      expect(failed.filter(({ status }) => status === 'fulfilled')).toEqual([]);
      answers.push(...failed.map(() => performance.now() - since));
    }
    await makeRoom();
    const requests = batch();
    const wanted = requests.map((charges) => memory.consume(charges));
    const verdicts = await Promise.all(requests.map((charges) => store.consume(charges)));
    // After a batch that was written in part, some keys would have less left than they should.
    const left = (all: readonly Verdict[]): number[] =>
      all.flatMap(({ charges }) => charges.map(({ remaining }) => remaining));
    const [seen, right] = [left(verdicts), left(wanted)];
    const doubles = seen.filter((remaining, i) => remaining < right[i]!).length;
    const overAdmissions = seen.filter((remaining, i) => remaining > right[i]!).length;
    record('OOM: nothing half-written', { answers, doubles, overAdmissions });
    expect(verdicts).toEqual(wanted);
  });
});
