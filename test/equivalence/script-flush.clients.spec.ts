import { describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import type { RedisClient } from '../../libs/rate-limit/src/stores/redis/clients/redis-client.js';
import { RedisStore } from '../../libs/rate-limit/src/stores/redis/redis.store.js';
import type { Charge } from '../../libs/rate-limit/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../support/algorithm-of.js';
import { useRedis } from '../support/redis-fixture.js';

const NOW = 19_900 * 86_400_000_000;
const HOT = 500;
const redis = useRedis();

/** A client that flushes the scripts of Redis before every `every`-th EVALSHA, on the same connection. */
function forgetful(every: number): RedisClient & { flushed: number; resent: number } {
  let questions = 0;
  const client = {
    flushed: 0,
    resent: 0,
    evalsha: (sha1: string, keys: number, ...args: string[]) => {
      if (questions++ % every === 0) {
        client.flushed++;
        void redis.client.script('FLUSH');
      }
      return redis.client.evalsha(sha1, keys, ...args);
    },
    eval: (script: string, keys: number, ...args: string[]) => {
      client.resent++;
      return redis.client.eval(script, keys, ...args);
    },
    del: (key: string) => redis.client.del(key),
  };
  return client;
}

describe.each([1, 3])('SCRIPT FLUSH before one in %d batches', (every) => {
  it.each(ALL_ALGORITHMS)('%s: fails no request, and charges none twice', async (name) => {
    const client = forgetful(every);
    const store = new RedisStore(client, { clock: () => NOW });
    const memory = new MemoryStore({ clock: () => NOW });
    const policy = SMALL_POLICIES[name];
    const hot = algorithmOf({ ...policy, [name.endsWith('bucket') ? 'capacity' : 'limit']: HOT });
    const own = algorithmOf(policy);
    // 700 requests on one key; each has a second key of its own, so that a turn takes several batches.
    const requests = Array.from({ length: 700 }, (_, i): Charge[] => [
      { key: 'hot', algorithm: hot, cost: 1 },
      { key: `own ${i}`, algorithm: own, cost: 1 },
    ]);
    const inMemory = requests.map((charges) => memory.consume(charges));
    const verdicts = [];
    for (let turn = 0; turn < 4; turn++) {
      const asked = requests.slice(turn * 175, (turn + 1) * 175);
      verdicts.push(...(await Promise.all(asked.map((charges) => store.consume(charges)))));
    }

    expect(client.flushed).toBeGreaterThan(4);
    expect(client.resent).toBeGreaterThan(4);
    const allowed = verdicts.filter((verdict) => verdict.allowed);
    expect(allowed).toHaveLength(inMemory.filter((verdict) => verdict.allowed).length);
    // A batch that is sent again may come later, so the order of the requests is not fixed.
    const remaining = allowed.map(({ charges }) => charges[0]!.remaining).toSorted((a, b) => b - a);
    const inOrder = inMemory.filter((verdict) => verdict.allowed).map(({ charges }) => charges[0]!.remaining);
    expect(remaining).toEqual(inOrder);
    const left = { key: 'hot', algorithm: hot, cost: 0 };
    expect(await store.consume([left])).toEqual(memory.consume([left]));
  });
});

describe('any other failure', () => {
  it('does not send the batch again: Redis may have charged it already', async () => {
    const charges = [{ key: 'key', algorithm: algorithmOf(SMALL_POLICIES['fixed-window']), cost: 1 }];
    const honest = new RedisStore(redis.client, { clock: () => NOW });
    await honest.consume(charges);
    const client: RedisClient = {
      evalsha: async (sha1: string, keys: number, ...args: string[]) => {
        await redis.client.evalsha(sha1, keys, ...args);
        throw new Error('Connection is closed.');
      },
      eval: (script: string, keys: number, ...args: string[]) => redis.client.eval(script, keys, ...args),
      del: (key: string) => redis.client.del(key),
    };
    const store = new RedisStore(client, { clock: () => NOW });
    await expect(store.consume(charges)).rejects.toThrow('Redis did not decide: the connection to Redis is closed');
    expect((await honest.consume(charges)).charges[0]!.remaining).toBe(1);
  });
});

describe('a restarted server', () => {
  it('gets the script again, and no request fails', async () => {
    const store = new RedisStore(redis.client, { clock: () => NOW });
    const charges = [{ key: 'key', algorithm: algorithmOf(SMALL_POLICIES['fixed-window']), cost: 1 }];
    expect((await store.consume(charges)).charges[0]!.remaining).toBe(3);
    await redis.server.restart();
    await redis.client.ping();
    expect((await store.consume(charges)).charges[0]!.remaining).toBe(3);
  });
});
