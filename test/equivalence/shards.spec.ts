import { describe, expect, it } from '@jest/globals';
import calculateSlot from 'cluster-key-slot';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Charge } from '../../libs/floodgate/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { useEmptyCluster } from '../support/faults/cluster-fixture.js';
import { TestClock } from '../support/test-clock.js';

const NOW = 1_700_000_000_000_000;
const on = useEmptyCluster();

describe('a policy that is split among shards', () => {
  const SHARDS = 5;
  const DAY: Policy = { algorithm: 'fixed-window', limit: 10, window: '300d' };
  const store = (clock = (): number => NOW): RedisStore => new RedisStore(on.client, { clock });
  /** A store identifies a policy's shards by the list. */
  const shardKeys = Array.from({ length: SHARDS }, (_, i) => `{global:shared/${i}.${SHARDS}}`);
  const shared = (policy: Policy, cost: number): Charge[] => [
    { key: '{global:shared}', algorithm: algorithmOf(policy), cost, global: true, shardKeys },
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

  it('has as many slots, on several nodes', async () => {
    const sharded = store();
    const asked = shared({ algorithm: 'fixed-window', limit: 40, window: '300d' }, 1);
    while ((await sharded.consume(asked)).allowed);
    const keys = await Promise.all((await on.cluster.masters()).map((node) => node.client.keys('*shared*')));
    expect(keys.flat()).toHaveLength(SHARDS);
    expect(keys.filter((some) => some.length > 0).length).toBeGreaterThan(1);
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
    const full: Charge[] = [{ key: `{${later}}`, algorithm: algorithmOf({ ...DAY, limit: 1 }), cost: 1, global: true }];
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
