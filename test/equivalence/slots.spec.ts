import { setImmediate as endOfTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import { assert, asyncProperty, pre } from 'fast-check';
import { BlockAlgorithm } from '../../libs/rate-limit/src/algorithms/block.js';
import type { Policy } from '../../libs/rate-limit/src/policy/policy.js';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import { LoadedRedisStore } from '../../libs/rate-limit/src/stores/redis/loaded-redis-store.js';
import { RedisStore } from '../../libs/rate-limit/src/stores/redis/redis.store.js';
import { readStoreOptions } from '../../libs/rate-limit/src/stores/redis/store-options.js';
import { DenialCache } from '../../libs/rate-limit/src/engine/layers/denial-cache.js';
import { Deadlines } from '../../libs/rate-limit/src/stores/deadlines.js';
import type { Charge, ChargeVerdict, Verdict } from '../../libs/rate-limit/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf } from '../support/algorithm-of.js';
import { MovingClock } from '../support/arbitrary-instants.js';
import { expectSame } from '../support/expect-same.js';
import { useCluster } from '../support/faults/cluster-fixture.js';
import { untilByNode } from '../support/faults/until-by-node.js';
import { loadPrograms } from '../support/programs.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { TestClock } from '../support/test-clock.js';
import { chargesOf, historiesOf, type History, requestsOf } from './histories.js';

jest.setTimeout(60_000); // six servers share the machine with the other tests

const NOW = 1_700_000_000_000_000;
const DAY: Policy = { algorithm: 'fixed-window', limit: 10, window: '300d' };

const on = useCluster();

beforeEach(async () => {
  for (const { client } of await on.cluster.masters()) {
    await client.flushall();
    await loadPrograms(client);
  }
});

function store(clock = (): number => NOW): RedisStore {
  return new RedisStore(on.client, { clock });
}

/** A request with several policies. Each has a key in its own slot. */
function request(policies: Readonly<Record<string, Policy>>, cost = 1): Charge[] {
  return Object.entries(policies).map(([tag, policy]) => ({
    key: `{${tag}}`,
    algorithm: algorithmOf(policy),
    cost,
    global: tag.startsWith('global:'),
  }));
}

async function counted(key: string): Promise<number> {
  const { charges } = await store().consume([{ key, algorithm: algorithmOf(DAY), cost: 0 }]);
  return 10 - charges[0]!.remaining;
}

/** Decides a history one request after the other, in several slots and in memory. The clock does not step back. */
async function giveToBoth(history: History, isShadow = (_key: string): boolean => false): Promise<void> {
  pre(!history.policies.some((versions) => versions.some(isFast)));
  const clock = new MovingClock(history.start, 0);
  const options = { clock: clock.read, maxSkew: history.maxSkewMs };
  const inSlots = new RedisStore(on.client, options);
  const inMemory = new MemoryStore(options);
  const pool = chargesOf(history, `history-${historiesGiven++}`).map((charges) =>
    charges.map((charge): Charge => ({ ...charge, shadow: isShadow(charge.key) })),
  );
  for (const turn of history.turns) {
    clock.move(turn.move, algorithmOf(history.policies[0]![0]), []);
    for (const charges of requestsOf(turn, pool)) {
      const wanted = inMemory.consume(charges);
      const verdict = await inSlots.consume(charges);
      await endOfTurn(); // the refunds of a rejection leave with it, before the clock moves on
      // The clock of its slot tells when a lease ends.
      expectSame({ ...verdict, charges: verdict.charges.map(withoutReceipt) }, wanted);
    }
  }
}
let historiesGiven = 0;

function withoutReceipt({ allowed, remaining, resetAfter, retryAfter, delay }: ChargeVerdict): ChargeVerdict {
  return { allowed, remaining, resetAfter, retryAfter, delay };
}

/** A queue whose slots are shorter than a microsecond: it cannot tell whether a slot is the last, and does not refund it. */
function isFast(policy: Policy): boolean {
  const { name, wire } = algorithmOf(policy);
  return name === 'leaky-bucket' && wire.numbers[0]! > wire.numbers[1]!;
}

describe('the policies of a request in several slots of a Cluster', () => {
  it.each(ALL_ALGORITHMS)(
    '%s: decide as one store does, field by field, if requests come one after the other',
    async (name) => {
      await assert(
        asyncProperty(historiesOf(name), (history) => giveToBoth(history)),
        histories(0.2),
      );
    },
    HISTORY_TIMEOUT_MS,
  );

  it.each(ALL_ALGORITHMS)(
    '%s: decide as one store does with a policy in shadow',
    async (name) => {
      const first = asyncProperty(historiesOf(name), (history) => giveToBoth(history, (key) => key.includes(':0:')));
      await assert(first, histories(0.1));
    },
    HISTORY_TIMEOUT_MS,
  );

  it('are charged in time without the shadow whose node hangs', async () => {
    const hanging = await on.cluster.masterOf('{there}');
    const tag = await on.cluster.tagOf((await on.cluster.masters()).find((node) => node !== hanging)!);
    const shadow = { key: '{there}', algorithm: algorithmOf(DAY), cost: 1, shadow: true };
    const asked: Charge[] = [{ key: `{${tag}}`, algorithm: algorithmOf(DAY), cost: 1 }, shadow];
    const patient = new LoadedRedisStore(on.client, readStoreOptions({ clock: () => NOW }), {
      deadlines: new Deadlines(300),
    });
    expect((await patient.consume(asked)).charges.map(({ remaining }) => remaining)).toEqual([9, 9]);
    await hanging.client.call('CLIENT', 'PAUSE', '600', 'ALL');
    const { allowed, charges } = await patient.consume(asked);
    expect(allowed).toBe(true);
    expect(charges.map(({ remaining }) => remaining)).toEqual([8, 10]);
    expect(await counted(`{${tag}}`)).toBe(2);
  });

  it('are all charged or none, however many requests are in flight', async () => {
    const stores = [store(), store(), store()];
    const users = Array.from({ length: 30 }, (_, i) => `user:${i}`);
    const asked = users.flatMap((user) => Array<string>(3).fill(user));
    const verdicts = await Promise.all(
      asked.map((user, i) =>
        stores[i % 3]!.consume(request({ 'global:all': DAY, [user]: { ...DAY, limit: 2 }, [`ip:${i % 7}`]: DAY })),
      ),
    );
    const admitted = new Map<string, number>();
    for (const [i, { allowed }] of verdicts.entries()) {
      if (allowed) admitted.set(asked[i]!, (admitted.get(asked[i]!) ?? 0) + 1);
    }
    const total = [...admitted.values()].reduce((sum, count) => sum + count, 0);
    // A request that is refunded a moment later may cause other rejections, but cannot reject all of them.
    expect(total).toBeGreaterThan(0);
    expect(total).toBeLessThanOrEqual(10);
    expect(await counted('{global:all}')).toBe(total);
    for (const user of users) expect(await counted(`{${user}}`)).toBe(admitted.get(user) ?? 0);
    const byAddress = await Promise.all(Array.from({ length: 7 }, (_, i) => counted(`{ip:${i}}`)));
    expect(byAddress.reduce((sum, count) => sum + count, 0)).toBe(total);
  });

  it('do not reject each other if two routes name them in different orders', async () => {
    const one = { ...DAY, limit: 1 };
    for (let i = 0; i < 100; i++) {
      const [here, there] = [store(), store()];
      const policies = { [`user:${i}`]: one, [`ip:${i}`]: one, [`global:${i}`]: one };
      const back = Object.fromEntries(Object.entries(policies).toReversed());
      const verdicts = await Promise.all([here.consume(request(policies)), there.consume(request(back))]);
      expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(1);
    }
  });

  it('are not charged, not even for a moment, while the denial cache knows that one of them rejects', async () => {
    const asked = new LoadedRedisStore(on.client, readStoreOptions({ clock: () => NOW }), {
      denials: new DenialCache(1000),
    });
    const [full] = request({ 'global:known': { ...DAY, limit: 1 } });
    const ask = (user: string) => asked.consume([...request({ [`user:${user}`]: DAY }), full!]);
    for (const user of ['a', 'b', 'c']) await ask(user);
    const rejected = await ask('d');
    expect(rejected.charges).toMatchObject([
      { allowed: true, remaining: 10 },
      { allowed: false, remaining: 0 },
    ]);
    // A refunded charge leaves a state behind. Users after the first rejection have none.
    expect(await Promise.all(['b', 'c', 'd'].map((user) => on.client.exists(`{user:${user}}`)))).toEqual([1, 0, 0]);
  });

  it('are refunded after a rejection, so that it causes no other rejection', async () => {
    const full = { ...DAY, limit: 1 };
    const asked = store();
    expect((await asked.consume(request({ 'user:a': DAY, 'global:full': full }))).allowed).toBe(true);
    for (let i = 0; i < 20; i++) {
      const { allowed, charges } = await asked.consume(request({ 'user:a': DAY, 'global:full': full }));
      expect(allowed).toBe(false);
      expect(charges.map((charge) => [charge.allowed, charge.remaining])).toEqual([
        [true, 9],
        [false, 0],
      ]);
    }
    expect(await counted('{user:a}')).toBe(1);
  });

  it('count the rejection of the first slot that rejects, and are blocked in all of them together', async () => {
    const clock = new TestClock(NOW);
    const [asked, other] = [store(clock.read), store(clock.read)];
    const blockOf = (tag: string, after: number) => ({
      key: `{${tag}}!`,
      algorithm: new BlockAlgorithm(after, 60_000_000),
      cost: 1,
    });
    const [user, all] = request({ 'user:b': { ...DAY, limit: 2 }, 'global:b': { ...DAY, limit: 3 } });
    const charges: Charge[] = [
      { ...user!, block: blockOf('user:b', 2) },
      { ...all!, block: blockOf('global:b', 3) },
    ];
    const ask = async (from = asked): Promise<unknown> => {
      const verdict = await from.consume(charges);
      return [verdict.allowed, ...verdict.charges.map(({ blockedFor }) => blockedFor)];
    };
    expect([await ask(), await ask(other)]).toEqual([
      [true, undefined, undefined],
      [true, undefined, undefined],
    ]);
    expect(await ask()).toEqual([false, undefined, undefined]);
    clock.now += 1_000_000;
    expect(await ask(other)).toEqual([false, 60_000_000, undefined]);
    clock.now += 59_999_999;
    expect(await ask()).toEqual([false, 1, undefined]);
    // Nothing was charged meanwhile.
    expect(await counted('{global:b}')).toBe(2);
    // The other slot rejects alone: the first one is charged and refunded, and counts nothing.
    const one = [{ ...request({ 'user:c': DAY })[0]!, block: blockOf('user:c', 1) }, charges[1]!];
    const third = await asked.consume(one);
    expect(third.allowed).toBe(true);
    for (const blockedFor of [undefined, undefined, 60_000_000]) {
      const verdict = await other.consume(one);
      expect(verdict.charges.map((charge) => [charge.allowed, charge.blockedFor])).toEqual([
        [true, undefined],
        [false, blockedFor],
      ]);
    }
    expect(await counted('{user:c}')).toBe(1);
  });

  it("refund the request's own slot in a queue, although another policy was asked later", async () => {
    const queue: Policy = { algorithm: 'leaky-bucket', capacity: 10, drain: 1 };
    const clock = new TestClock(NOW);
    let step = 0;
    const asked = store(() => (clock.now += step));
    await untilByNode(asked, await on.cluster.masters()); // the probe of a node reads the clock, too
    const [queued, all] = request({ 'user:a': queue, 'global:all': DAY });
    await asked.consume([queued!]);
    await asked.consume([queued!]);
    step = 1_000_000; // as long as one departure: at the second question the next slot would be named
    const left = await asked.consume([queued!, all!]);
    expect(left.charges[0]!.delay).toBe(1_000_000);
    step = 0;
    const behind = await asked.consume([queued!]);
    await asked.refund([{ ...queued!, at: left.at, resetAt: left.at + left.charges[0]!.resetAfter }]);
    const next = await asked.consume([queued!]);
    const departure = ({ at, charges }: Verdict): number => at + charges[0]!.delay;
    expect(departure(next)).toBe(departure(behind) + 1_000_000);
  });

  it('lose only a refund if the clock throws', async () => {
    let broken = false;
    const asked = store(() => {
      if (broken) throw new Error('no time');
      return NOW;
    });
    const { at, charges } = await asked.consume(request({ 'user:a': DAY }));
    broken = true;
    await asked.refund([{ ...request({ 'user:a': DAY })[0]!, at, resetAt: at + charges[0]!.resetAfter }]);
    expect(await counted('{user:a}')).toBe(1);
  });
});

describe('a policy that is split among shards', () => {
  const SHARDS = 5;
  const lists = new Map<string, readonly string[]>();
  /** One list for each tag: a store identifies a policy's shards by the list. */
  const shardKeysOf = (tag: string): readonly string[] => {
    let keys = lists.get(tag);
    if (keys === undefined) {
      keys = Array.from({ length: SHARDS }, (_, i) => `{global:${tag}/${i}.${SHARDS}}`);
      lists.set(tag, keys);
    }
    return keys;
  };
  const shared = (policy: Policy, cost: number): Charge[] => [
    { key: '{global:shared}', algorithm: algorithmOf(policy), cost, global: true, shardKeys: shardKeysOf('shared') },
  ];

  it.each<Policy>([
    { algorithm: 'token-bucket', capacity: 40, refill: 10 },
    { algorithm: 'fixed-window', limit: 40, window: '4s' },
    { algorithm: 'sliding-window-log', limit: 40, window: '4s' },
    { algorithm: 'sliding-window-counter', limit: 40, window: '4s' },
  ])('$algorithm: admits as many requests of cost 1 as the whole would', async (policy) => {
    const clock = new TestClock(NOW);
    const sharded = store(clock.read);
    const whole = new MemoryStore({ clock: clock.read });
    const counts: [number, number][] = [];
    for (const wait of [0, 0, 500_000, 1_500_000, 4_000_000, 20_000_000]) {
      clock.now += wait;
      const asked = shared(policy, 1);
      const verdicts = await Promise.all(Array.from({ length: 60 }, () => sharded.consume(asked)));
      const passed = verdicts.filter(({ allowed }) => allowed).length;
      counts.push([passed, Array.from({ length: 60 }, () => whole.consume(asked)).filter((one) => one.allowed).length]);
    }
    const [first] = counts;
    expect(first).toEqual([40, 40]);
    // Each shard rounds its rate, or the weight of a window, and so may withhold less than one request.
    let [shardedSum, wholeSum] = [0, 0];
    for (const [passed, wanted] of counts) {
      shardedSum += passed;
      wholeSum += wanted;
      expect(shardedSum).toBeLessThanOrEqual(wholeSum);
      expect(shardedSum).toBeGreaterThan(wholeSum - SHARDS);
    }
  });

  it('of a token bucket: admits fewer where a shard is full and gains nothing, by less than one request a shard', async () => {
    const clock = new TestClock(NOW);
    const sharded = store(clock.read);
    const whole = new MemoryStore({ clock: clock.read });
    const asked = shared({ algorithm: 'token-bucket', capacity: SHARDS, refill: SHARDS }, 1);
    const admitted = { sharded: 0, whole: 0 };
    const ask = async (): Promise<void> => {
      admitted.sharded += Number((await sharded.consume(asked)).allowed);
      admitted.whole += Number(whole.consume(asked).allowed);
    };
    // One at a time: the whole is full before each request, and the requests go to the shards in rotation.
    for (let i = 0; i < 3 * SHARDS; i++, clock.now += 1_000_000 / SHARDS) await ask();
    expect(admitted).toEqual({ sharded: 3 * SHARDS, whole: 3 * SHARDS });
    for (let i = 0; i < SHARDS; i++) await ask();
    expect(admitted.whole).toBe(4 * SHARDS);
    expect(admitted.sharded).toBeGreaterThan(3 * SHARDS);
  });

  it('rejects a cost of n only if every shard has fewer than n left', async () => {
    const sharded = store();
    const policy: Policy = { algorithm: 'fixed-window', limit: 40, window: '300d' };
    let taken = 0;
    while ((await sharded.consume(shared(policy, 3))).allowed) taken += 3;
    expect(taken).toBe(SHARDS * 6);
    let { charges } = await sharded.consume(shared(policy, 3));
    expect(charges[0]).toMatchObject({ allowed: false, remaining: SHARDS * 2 });
    for (let i = 0; i < SHARDS * 2; i++) expect((await sharded.consume(shared(policy, 1))).allowed).toBe(true);
    ({ charges } = await sharded.consume(shared(policy, 1)));
    expect(charges[0]).toMatchObject({ allowed: false, remaining: 0 });
  });

  it('has as many slots, on several nodes, and leaves other policies of a rejected request uncharged', async () => {
    const sharded = store();
    const asked = shared({ algorithm: 'fixed-window', limit: 40, window: '300d' }, 1);
    while ((await sharded.consume(asked)).allowed);
    const together = await sharded.consume([...request({ 'user:a': DAY }), ...asked]);
    expect(together.charges.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 10],
      [false, 0],
    ]);
    expect(await counted('{user:a}')).toBe(0);
    const keys = await Promise.all((await on.cluster.masters()).map((node) => node.client.keys('*shared*')));
    expect(keys.flat()).toHaveLength(SHARDS);
    expect(keys.filter((some) => some.length > 0).length).toBeGreaterThan(1);
  });

  it('is charged evenly over its shards if a request has several sharded policies', async () => {
    const sharded = store();
    const limit = 10 * SHARDS;
    const policy: Policy = { algorithm: 'fixed-window', limit, window: '300d' };
    const charges = ['even', 'odd', 'more', 'most', 'last'].map((tag): Charge => ({
      key: `{global:${tag}}`,
      algorithm: algorithmOf(policy),
      cost: 1,
      global: true,
      shardKeys: shardKeysOf(tag),
    }));
    for (let i = 0; i < 2 * SHARDS; i++) await sharded.consume(charges);
    for (const { key } of charges) {
      const keys = (
        await Promise.all((await on.cluster.masters()).map((node) => node.client.keys(`${key.slice(0, -1)}/*`)))
      ).flat();
      expect(keys).toHaveLength(SHARDS);
    }
  });

  it('returns the resetAfter of all shards with a rejection', async () => {
    const clock = new TestClock(NOW);
    const sharded = store(clock.read);
    const asked = shared({ algorithm: 'sliding-window-log', limit: SHARDS, window: '10s' }, 1);
    for (let i = 0; i < SHARDS; i++) {
      expect((await sharded.consume(asked)).allowed).toBe(true);
      clock.now += 1_000_000;
    }
    const { charges } = await sharded.consume(asked);
    expect(charges[0]).toMatchObject({ allowed: false, retryAfter: 5_000_000, resetAfter: 9_000_000 });
  });

  it('refunds the shard that was charged', async () => {
    const sharded = store();
    const policy: Policy = { algorithm: 'fixed-window', limit: SHARDS, window: '300d' };
    // Another global policy in a later slot is full already.
    const [own] = shared(policy, 1);
    const later = Array.from({ length: 1000 }, (_, i) => `global:${i}`).find(
      (tag) => calculateSlot(`{${tag}}`) > calculateSlot(own!.key),
    )!;
    const full = request({ [later]: { ...DAY, limit: 1 } });
    await sharded.consume(full);
    for (let i = 0; i < 3 * SHARDS; i++) {
      const { allowed, charges } = await sharded.consume([own!, ...full]);
      expect(allowed).toBe(false);
      expect(charges[0]).toMatchObject({ allowed: true, remaining: SHARDS });
    }
    for (let i = 0; i < SHARDS; i++) expect((await sharded.consume([own!])).allowed).toBe(true);
    expect((await sharded.consume([own!])).allowed).toBe(false);
  });
});
