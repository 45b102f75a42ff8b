import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { assert, asyncProperty, pre } from 'fast-check';
import type { Policy } from '../../libs/rate-limit/src/policy/policy.js';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/rate-limit/src/stores/redis/redis.store.js';
import { RememberedRefusals } from '../../libs/rate-limit/src/stores/remembered-refusals.js';
import type { Charge, Verdict } from '../../libs/rate-limit/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf } from '../support/algorithm-of.js';
import { MovingClock } from '../support/arbitrary-instants.js';
import { expectSame } from '../support/expect-same.js';
import { useCluster } from '../support/faults/cluster-fixture.js';
import { histories, HISTORIES, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { TestClock } from '../support/test-clock.js';
import { chargesOf, historiesOf, type History, requestsOf } from './histories.js';

jest.setTimeout(60_000); // six servers share the machine with all other tests

const NOW = 1_700_000_000_000_000;
const DAY: Policy = { algorithm: 'fixed-window', limit: 10, window: '300d' };

const on = useCluster();

beforeEach(async () => {
  await Promise.all((await on.cluster.masters()).map((node) => node.client.flushall()));
});

function store(clock = (): number => NOW): RedisStore {
  return new RedisStore(on.client, { clock });
}

/** A request of several policies, each with a key in a slot of its own. */
function request(policies: Readonly<Record<string, Policy>>, cost = 1): Charge[] {
  return Object.entries(policies).map(([tag, policy]) => ({ key: `{${tag}}`, algorithm: algorithmOf(policy), cost }));
}

async function counted(key: string): Promise<number> {
  const { charges } = await store().consume([{ key, algorithm: algorithmOf(DAY), cost: 0 }]);
  return 10 - charges[0]!.remaining;
}

/** One request after the other, while the clock goes forward: then what is charged in turn is charged as in one step. */
async function tellBoth(history: History): Promise<void> {
  pre(!history.policies.some((versions) => versions.some(isFast)));
  const clock = new MovingClock(history.start, 0);
  const options = { clock: clock.read, maxSkewMs: history.maxSkewMs };
  const inSlots = new RedisStore(on.client, options);
  const inMemory = new MemoryStore(options);
  const pool = chargesOf(history, `history-${historiesTold++}`);
  for (const turn of history.turns) {
    clock.move(turn.move, algorithmOf(history.policies[0]![0]), []);
    for (const charges of requestsOf(turn, pool)) {
      const wanted = inMemory.consume(charges);
      expectSame(await inSlots.consume(charges), wanted);
    }
  }
}
let historiesTold = 0;

/** Where a queue's slot is shorter than a microsecond, whether it was the last cannot be told, and it stays. */
function isFast(policy: Policy): boolean {
  const { name, wire } = algorithmOf(policy);
  return name === 'leaky-bucket' && wire[0]! > wire[1]!;
}

describe('policies of a request in several slots of a Cluster', () => {
  it.each(ALL_ALGORITHMS)(
    '%s: one request after the other, they are told what one store would tell, field by field',
    async (name) => {
      await assert(asyncProperty(historiesOf(name), tellBoth), { ...histories(), numRuns: HISTORIES / 5 });
    },
    HISTORY_TIMEOUT_MS,
  );

  it('are all charged or none, however many requests are under way at once', async () => {
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
    // Requests that hold what they give back a moment later may refuse others, but not all of them.
    expect(total).toBeGreaterThan(0);
    expect(total).toBeLessThanOrEqual(10);
    expect(await counted('{global:all}')).toBe(total);
    for (const user of users) expect(await counted(`{${user}}`)).toBe(admitted.get(user) ?? 0);
    const byAddress = await Promise.all(Array.from({ length: 7 }, (_, i) => counted(`{ip:${i}}`)));
    expect(byAddress.reduce((sum, count) => sum + count, 0)).toBe(total);
  });

  it('do not refuse each other where two routes name them in differing orders', async () => {
    const one = { ...DAY, limit: 1 };
    for (let i = 0; i < 100; i++) {
      const [here, there] = [store(), store()];
      const policies = { [`user:${i}`]: one, [`ip:${i}`]: one, [`global:${i}`]: one };
      const back = Object.fromEntries(Object.entries(policies).toReversed());
      const verdicts = await Promise.all([here.consume(request(policies)), there.consume(request(back))]);
      expect(verdicts.filter(({ allowed }) => allowed)).toHaveLength(1);
    }
  });

  it('charge nobody, not even for a moment, while one of them is known to refuse', async () => {
    const asked = new RedisStore(on.client, { clock: () => NOW, refusals: new RememberedRefusals(1000) });
    const [full] = request({ 'global:known': { ...DAY, limit: 1 } });
    const ask = (user: string) => asked.consume([...request({ [`user:${user}`]: DAY }), full!]);
    for (const user of ['a', 'b', 'c']) await ask(user);
    const told = await ask('d');
    expect(told.charges).toMatchObject([
      { allowed: true, remaining: 10 },
      { allowed: false, remaining: 0 },
    ]);
    // A charge that was given back leaves a state behind: those who asked after the first refusal have none.
    expect(await Promise.all(['b', 'c', 'd'].map((user) => on.client.exists(`{user:${user}}`)))).toEqual([1, 0, 0]);
  });

  it('a refused request leaves nobody else refused: what it was charged is there again', async () => {
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

  it('a queue: who leaves it gives back its own slot, though another policy was asked later', async () => {
    const queue: Policy = { algorithm: 'leaky-bucket', capacity: 10, drain: 1 };
    const clock = new TestClock(NOW);
    let step = 0;
    const asked = store(() => (clock.now += step));
    const [place, all] = request({ 'user:a': queue, 'global:all': DAY });
    await asked.consume([place!]);
    await asked.consume([place!]);
    step = 1_000_000; // as long as one departure: at the second question the slot behind hers would be named
    const hers = await asked.consume([place!, all!]);
    expect(hers.charges[0]!.delay).toBe(1_000_000);
    step = 0;
    const behind = await asked.consume([place!]);
    await asked.giveBack([{ ...place!, at: hers.at, resetAt: hers.at + hers.charges[0]!.resetAfter }]);
    const next = await asked.consume([place!]);
    const departure = ({ at, charges }: Verdict): number => at + charges[0]!.delay;
    expect(departure(next)).toBe(departure(behind) + 1_000_000);
  });

  it('a clock that throws loses a give-back, and nothing else', async () => {
    let broken = false;
    const asked = store(() => {
      if (broken) throw new Error('no time');
      return NOW;
    });
    const { at, charges } = await asked.consume(request({ 'user:a': DAY }));
    broken = true;
    await asked.giveBack([{ ...request({ 'user:a': DAY })[0]!, at, resetAt: at + charges[0]!.resetAfter }]);
    expect(await counted('{user:a}')).toBe(1);
  });
});

describe('a policy that is split among shards', () => {
  const SHARDS = 5;
  const shared = (policy: Policy, cost: number): Charge[] => [
    { key: '{global:shared}', algorithm: algorithmOf(policy), cost, shards: SHARDS },
  ];

  it.each<Policy>([
    { algorithm: 'token-bucket', capacity: 40, refill: 10 },
    { algorithm: 'fixed-window', limit: 40, window: '4s' },
    { algorithm: 'sliding-window-log', limit: 40, window: '4s' },
    { algorithm: 'sliding-window-counter', limit: 40, window: '4s' },
  ])('$algorithm: admits what the whole would, request by request where the cost is 1', async (policy) => {
    const clock = new TestClock(NOW);
    const sharded = store(clock.read);
    const whole = new MemoryStore({ clock: clock.read });
    const told: [number, number][] = [];
    for (const wait of [0, 0, 500_000, 1_500_000, 4_000_000, 20_000_000]) {
      clock.now += wait;
      const asked = shared(policy, 1);
      const verdicts = await Promise.all(Array.from({ length: 60 }, () => sharded.consume(asked)));
      const passed = verdicts.filter(({ allowed }) => allowed).length;
      told.push([passed, Array.from({ length: 60 }, () => whole.consume(asked)).filter((one) => one.allowed).length]);
    }
    const [first] = told;
    expect(first).toEqual([40, 40]);
    // Shards round for themselves: of a rate, or of what a window weighs, each may hold back less than one request.
    let [shardedSum, wholeSum] = [0, 0];
    for (const [passed, wanted] of told) {
      shardedSum += passed;
      wholeSum += wanted;
      expect(shardedSum).toBeLessThanOrEqual(wholeSum);
      expect(shardedSum).toBeGreaterThan(wholeSum - SHARDS);
    }
  });

  it('a token bucket loses what its full shards are not refilled with, and fewer than one request in each', async () => {
    const clock = new TestClock(NOW);
    const sharded = store(clock.read);
    const whole = new MemoryStore({ clock: clock.read });
    const asked = shared({ algorithm: 'token-bucket', capacity: SHARDS, refill: SHARDS }, 1);
    const admitted = { sharded: 0, whole: 0 };
    const ask = async (): Promise<void> => {
      admitted.sharded += Number((await sharded.consume(asked)).allowed);
      admitted.whole += Number(whole.consume(asked).allowed);
    };
    // One at a time the whole is full before each, and the shards are taken from in turn.
    for (let i = 0; i < 3 * SHARDS; i++, clock.now += 1_000_000 / SHARDS) await ask();
    expect(admitted).toEqual({ sharded: 3 * SHARDS, whole: 3 * SHARDS });
    for (let i = 0; i < SHARDS; i++) await ask();
    expect(admitted.whole).toBe(4 * SHARDS);
    expect(admitted.sharded).toBeGreaterThan(3 * SHARDS);
  });

  it('refuses a cost of n only when fewer than n are left in every shard', async () => {
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

  it('lies in as many slots, on several nodes, and refuses before anybody else is charged for good', async () => {
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

  it('is taken from alike by a request that others of its kind stand beside', async () => {
    const sharded = store();
    const limit = 10 * SHARDS;
    const policy: Policy = { algorithm: 'fixed-window', limit, window: '300d' };
    const charges = ['even', 'odd', 'more', 'most', 'last'].map((tag): Charge => ({
      key: `{global:${tag}}`,
      algorithm: algorithmOf(policy),
      cost: 1,
      shards: SHARDS,
    }));
    for (let i = 0; i < 2 * SHARDS; i++) await sharded.consume(charges);
    for (const { key } of charges) {
      const keys = (
        await Promise.all((await on.cluster.masters()).map((node) => node.client.keys(`${key.slice(0, -1)}/*`)))
      ).flat();
      expect(keys).toHaveLength(SHARDS);
    }
  });

  it('says of a refusal when all of it is there again', async () => {
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

  it('is returned to the shard that it was taken from', async () => {
    const sharded = store();
    const policy: Policy = { algorithm: 'fixed-window', limit: SHARDS, window: '300d' };
    // Behind a policy that counts everybody, in a later slot than this one and full already.
    const [own] = shared(policy, 1);
    const later = Array.from({ length: 1000 }, (_, i) => `global:${i}`).find(
      (tag) => sharded.slotOf(`{${tag}}`) > sharded.slotOf(own!.key),
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
