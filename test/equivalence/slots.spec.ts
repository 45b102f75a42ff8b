import { setImmediate as endOfTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { assert, asyncProperty, boolean, pre } from 'fast-check';
import { BlockAlgorithm } from '../../libs/floodgate/src/algorithms/block/block.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { LoadedRedisStore } from '../../libs/floodgate/src/stores/redis/loaded-redis-store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import { readStoreOptions } from '../../libs/floodgate/src/stores/redis/store-options.js';
import { DenialCache } from '../../libs/floodgate/src/layers/denials/denial-cache.js';
import { Deadlines } from '../../libs/floodgate/src/stores/deadlines.js';
import { peekOf } from '../../libs/floodgate/src/stores/charge.js';
import { receiptsOf } from '../../libs/floodgate/src/stores/receipt.js';
import type { Charge, ChargeVerdict, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { ALL_ALGORITHMS, algorithmOf } from '../support/algorithm-of.js';
import { MovingClock } from '../support/arbitrary-instants.js';
import { expectSame } from '../support/expect-same.js';
import { useEmptyCluster } from '../support/faults/cluster-fixture.js';
import { until } from '../support/faults/until.js';
import { untilByNode } from '../support/faults/until-by-node.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { TestClock } from '../support/test-clock.js';
import { chargesOf, historiesOf, type History, requestsOf } from './histories.js';

const NOW = 1_700_000_000_000_000;
const DAY: Policy = { algorithm: 'fixed-window', limit: 10, window: '300d' };

const on = useEmptyCluster();

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
async function giveToBoth(history: History, isShadow: (key: string) => boolean): Promise<void> {
  pre(!history.policies.some((versions) => versions.some((policy) => isFast(policy) || isBegun(policy))));
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

/** A charge that one slot takes back has begun its window, which stands to its end: docs/redis.md says so. */
function isBegun(policy: Policy): boolean {
  return 'align' in policy && policy.align === 'first-request';
}

describe('the policies of a request in several slots of a Cluster', () => {
  it.each(ALL_ALGORITHMS)(
    '%s: decide as one store does, field by field, with and without a shadow, if requests come one after the other',
    async (name) => {
      const law = asyncProperty(historiesOf(name), boolean(), (history, hasShadow) =>
        giveToBoth(history, (key) => hasShadow && key.includes(':0:')),
      );
      await assert(law, histories(0.25));
    },
    HISTORY_TIMEOUT_MS,
  );

  it('are charged in time without the shadow whose node hangs', async () => {
    const hanging = await on.cluster.masterOf('{there}');
    const tag = await on.cluster.tagOf((await on.cluster.masters()).find((node) => node !== hanging)!);
    const shadow = { key: '{there}', algorithm: algorithmOf(DAY), cost: 1, shadow: true };
    const asked: Charge[] = [{ key: `{${tag}}`, algorithm: algorithmOf(DAY), cost: 1 }, shadow];
    const within = (deadlineMs: number) =>
      new LoadedRedisStore(on.client, readStoreOptions({ clock: () => NOW }), { deadlines: new Deadlines(deadlineMs) });
    expect((await within(10_000).consume(asked)).charges.map(({ remaining }) => remaining)).toEqual([9, 9]);
    hanging.stop();
    const { allowed, charges } = await within(300)
      .consume(asked)
      .finally(() => hanging.cont());
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
      denials: new DenialCache(3_600_000),
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

  it('give all their departure slots back if a later slot rejects them', async () => {
    const queue: Policy = { algorithm: 'leaky-bucket', capacity: 100, drain: 1 };
    const asked = store();
    const charges = request({ 'user:a': queue, 'global:all': { ...DAY, limit: 1 } });
    await asked.consume([charges[1]!]);
    const verdicts = await Promise.all(Array.from({ length: 10 }, async () => asked.consume(charges)));
    expect(verdicts.map(({ allowed }) => allowed)).toEqual(verdicts.map(() => false));
    await until(
      'the queue is empty',
      20_000,
      async () => (await asked.consume([peekOf(charges[0]!)])).charges[0]!.delay === 0,
    );
  });

  it('have receipts of the clocks of their own slots, shadows too', async () => {
    let now = NOW;
    const asked = store(() => (now += 1_000));
    const lease = { algorithm: 'concurrency', limit: 5, lease: '10m' } as const;
    const [all, shadow] = request({ 'user:a': DAY, 'global:places': lease });
    const charges: Charge[] = [all!, { ...shadow!, shadow: true }];
    const places = async (): Promise<number> => (await asked.consume([peekOf(shadow!)])).charges[0]!.remaining;
    const verdict = await asked.consume(charges);
    expect(await places()).toBe(4);
    await asked.refund(receiptsOf(charges, verdict));
    expect(await places()).toBe(5);
  });

  it.each([1_000_000, -1_000_000])(
    'are refunded, each where the clock of its own slot has put it (%d)',
    async (apart) => {
      const queue: Policy = { algorithm: 'leaky-bucket', capacity: 10, drain: 1 };
      const clock = new TestClock(NOW);
      let step = 0;
      const asked = store(() => (clock.now += step));
      await untilByNode(asked, await on.cluster.masters()); // the probe of a node reads the clock, too
      const [queued, all] = request({ 'user:a': queue, 'global:all': DAY });
      const sharded: Charge = { ...request({ 'global:sharded': DAY })[0]!, shardKeys: ['{s:0}', '{s:1}'] };
      await asked.consume([queued!]);
      await asked.consume([queued!]);
      step = apart; // as long as one departure: by the other clock the next slot would be named, and another window
      const left = await asked.consume([queued!, all!, sharded]);
      expect(left.charges[0]!.delay).toBe(2_000_000 - apart);
      step = 0;
      const behind = await asked.consume([queued!]);
      expect(await counted('{global:all}')).toBe(1);
      await asked.refund(receiptsOf([queued!, all!, sharded], left));
      expect(await counted('{global:all}')).toBe(0);
      for (let i = 0; i < 10; i++) expect((await asked.consume([sharded])).allowed).toBe(true);
      const next = await asked.consume([queued!]);
      const departure = ({ at, charges }: Verdict): number => at + charges[0]!.delay;
      expect(departure(next)).toBe(departure(behind) + 1_000_000);
    },
  );
});
