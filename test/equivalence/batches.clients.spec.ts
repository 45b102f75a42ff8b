import { describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Charge, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf, SMALL_POLICIES } from '../support/algorithm-of.js';
import { expectSame } from '../support/expect-same.js';
import { useRedis } from '../support/redis-fixture.js';

const NOW = 19_900 * 86_400_000_000 + 123_456;
const clock = () => NOW;
const redis = useRedis();

/** The verdicts of Redis on the requests of one turn, and those of memory on the same requests. */
async function bothAnswers(requests: readonly Charge[][]): Promise<[inRedis: Verdict[], inMemory: Verdict[]]> {
  const store = new RedisStore(redis.client, { clock, maxSkew: 0 });
  const memory = new MemoryStore({ clock });
  const inMemory = requests.map((charges) => memory.consume(charges));
  return [await Promise.all(requests.map((charges) => store.consume(charges))), inMemory];
}

function times(count: number, charges: Charge[]): Charge[][] {
  return Array.from({ length: count }, () => charges);
}

function fixedWindow(limit: number) {
  return algorithmOf({ algorithm: 'fixed-window', limit, window: '1m' });
}

// What it decides of any requests in any order: test/equivalence/one-truth.clients.spec.ts.
describe('one turn of the event loop', () => {
  it.each(ALL_ALGORITHMS)('%s: answers 20,000 equal requests as one by one; a row counts to 16,383', async (name) => {
    const large = { ...SMALL_POLICIES[name], [name.endsWith('bucket') ? 'capacity' : 'limit']: 18_000 };
    const charges = [{ key: 'key', algorithm: algorithmOf(large), cost: 1 }];
    const [inRedis, inMemory] = await bothAnswers(times(20_000, charges));
    expectSame(inRedis, inMemory);
    expect(inRedis.filter(({ allowed }) => allowed)).toHaveLength(name === 'leaky-bucket' ? 18_001 : 18_000);
  });

  it('answers 200 policies as one by one, and requests with 60 policies; a batch takes 63', async () => {
    const policies = Array.from({ length: 200 }, (_, i) => fixedWindow(i + 1));
    const charges = policies.map((algorithm, i) => ({ key: `${i}`, algorithm, cost: 1 + (i % 3) }));
    const alone = charges.map((charge) => [charge]);
    const many = [0, 60, 120].map((from) => charges.slice(from, from + 60));
    const [inRedis, inMemory] = await bothAnswers([...alone, ...many, ...alone.toReversed(), ...many]);
    expect(inRedis).toStrictEqual(inMemory);
  });

  it('answers requests on many keys as one by one; a batch takes 127', async () => {
    const algorithm = fixedWindow(2);
    const requests = Array.from({ length: 100 }, (_, i) =>
      Array.from({ length: 50 }, (__, k) => ({ key: `${(i * 13 + k) % 180}`, algorithm, cost: 1 })),
    );
    const [inRedis, inMemory] = await bothAnswers(requests);
    expect(inRedis).toStrictEqual(inMemory);
  });

  it('rejects more than 63 charges of a request, or of a settlement, and decides those beside it', async () => {
    const store = new RedisStore(redis.client, { clock });
    const charges = Array.from({ length: 64 }, (_, i): Charge => ({
      key: `${i}`,
      algorithm: fixedWindow(9),
      cost: 1,
      mode: 'reserve',
    }));
    const many = store.consume(charges);
    const one = store.consume(charges.slice(0, 1));
    const problem = 'RedisStore: takes at most 63 charges and blocks together, got 64';
    await expect(many).rejects.toThrow(problem);
    const { receipt } = (await one).charges[0]!;
    expect((await store.consume(charges.slice(0, 63))).allowed).toBe(true);
    const settlements = charges.map(({ key }) => ({ receipt: { ...receipt!, key }, finalCost: 0, overdraft: 0 }));
    await expect(store.settle(settlements)).rejects.toThrow(problem);
    expect(await store.settle(settlements.slice(0, 63))).toHaveLength(63);
  });

  it('decides requests that came before a reset before the reset', async () => {
    const store = new RedisStore(redis.client, { clock });
    const charges = [{ key: 'key', algorithm: fixedWindow(1), cost: 1 }];
    const before = store.consume(charges);
    const reset = store.reset(['key']);
    const after = store.consume(charges);
    expect((await before).allowed).toBe(true);
    await reset;
    expect((await after).allowed).toBe(true);
    expect((await store.consume(charges)).allowed).toBe(false);
  });
});
