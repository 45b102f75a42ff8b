import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimiter, RateLimitModule, RedisStore } from 'nestjs-floodgate';
import { algorithmOf } from '../support/algorithm-of.js';
import { useEmptyCluster } from '../support/faults/cluster-fixture.js';
import { start } from '../support/http-app.js';

const MINE: Policy = { name: 'mine', algorithm: 'token-bucket', capacity: 100, refill: '1/d' };
const DAILY: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 100, window: '300d' };
const ALL: Policy = { name: 'all', algorithm: 'fixed-window', limit: 120, window: '300d', by: 'global' };
const ADA = { kind: 'user', value: 'ada' };

const on = useEmptyCluster();

describe('reservations on a Cluster', () => {
  it.each<[string, readonly Policy[]]>([
    ['in one slot', [MINE, DAILY]],
    ['in several slots', [MINE, DAILY, ALL]],
    ['in several slots, one of them a shard', [MINE, { ...ALL, shards: 3 }]],
  ])('settle each policy where it was charged: %s', async (_, policies) => {
    await using app = await start('Express', {
      imports: [RateLimitModule.forRoot({ redis: on.client, deadline: '10s' })],
    });
    const limiter = app.app.get(RateLimiter);
    /** What the windows count in all slots and shards together: 16 digits of a state are its start. */
    const counted = async (): Promise<number> => {
      const nodes = await on.cluster.masters();
      const states = await Promise.all(
        nodes.map(async ({ client }) => Promise.all((await client.keys('*:fw:*')).map((key) => client.get(key)))),
      );
      return states.flat().reduce((sum, state) => sum + Number(state!.slice(16)), 0);
    };
    const windows = policies.filter(({ algorithm }) => algorithm === 'fixed-window').length;
    const reservation = await limiter.reserve(policies, ADA, { cost: 20 });
    expect(reservation.allowed).toBe(true);
    const { settledBy, policies: settled } = await reservation.settle(5);
    expect(settledBy).toBe('store');
    for (const one of settled) expect(one).toMatchObject({ settledBy: 'store', charged: 0, beyondOverdraft: 0 });
    for (const { refunded } of settled) expect(refunded).toBeCloseTo(15, 1);
    expect(await counted()).toBe(5 * windows);
    await (await limiter.reserve(policies, ADA, { cost: 20 })).settle(30);
    expect(await counted()).toBe(35 * windows);
    await (await limiter.reserve(policies, ADA, { cost: 20 })).cancel();
    expect(await counted()).toBe(35 * windows);
    const { remaining } = (await limiter.peek(MINE, ADA)).policies[0]!;
    expect(remaining).toBe(65);
  });

  it('settle what the slots that answer hold, and say which', async () => {
    const store = new RedisStore(on.client);
    const algorithm = algorithmOf(DAILY);
    const charges = ['{a}', '{b}'].map((key) => ({ key, algorithm, cost: 4, mode: 'reserve' as const }));
    const { charges: verdicts } = await store.consume(charges);
    const settlements = verdicts.map(({ receipt }) => ({ receipt: receipt!, finalCost: 1, overdraft: 0 }));
    await on.client.set('{b}', 'text');
    expect(await store.settle(settlements)).toEqual([{ refunded: 3, charged: 0 }, undefined]);
  });
});
