import { NestFactory } from '@nestjs/core';
import type { INestApplicationContext } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Cluster } from 'ioredis';
import { type Decision, type Policy, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { RedisStore } from '../../libs/rate-limit/src/stores/redis/redis.store.js';
import { slotOf } from '../../libs/rate-limit/src/stores/slots.js';
import { useCluster } from '../support/faults/cluster-fixture.js';
import { untilByNode } from '../support/faults/until-by-node.js';
import { Script } from '../../libs/rate-limit/src/stores/redis/batch/script.js';
import { NodeScript } from '../../libs/rate-limit/src/stores/redis/cluster/node-script.js';

/** How many batches were decided by node, and how many by slot. */
const nodeDecides = jest.spyOn(NodeScript.prototype, 'decide');
const slotDecides = jest.spyOn(Script.prototype, 'decide');
const nodeCalls = (): number => nodeDecides.mock.calls.length;
const slotCalls = (): number => slotDecides.mock.calls.length;

jest.setTimeout(60_000); // it is real time, and the machine may be busy

const on = useCluster();
const PODS = 4;
const USERS = Array.from({ length: 12 }, (_, i) => `rider-${i}`);
const LIMIT = 400;
const PREFETCH = { for: '1s', max: 100 } as const;
const BUCKET: Policy = {
  name: 'bucket',
  algorithm: 'token-bucket',
  capacity: LIMIT,
  refill: '1/h',
  prefetch: PREFETCH,
};
const WINDOW: Policy = { name: 'window', algorithm: 'fixed-window', limit: LIMIT, window: '300d', prefetch: PREFETCH };
const ALL: Policy = { name: 'all', algorithm: 'fixed-window', limit: 2_000, window: '300d', by: 'global' };

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

/** Pods that ask each node for all its slots. */
async function pods(): Promise<RateLimiter[]> {
  const masters = await on.cluster.masters();
  return Promise.all(
    Array.from({ length: PODS }, async () => {
      const client = new Cluster(on.cluster.addresses);
      open.push(async () => client.disconnect());
      const store = new RedisStore(client);
      await untilByNode(store, masters);
      const module = RateLimitModule.forRoot({ store, onStoreFailure: 'closed', deadline: 5_000 });
      const app: INestApplicationContext = await NestFactory.createApplicationContext(module, { logger: ['fatal'] });
      open.push(() => app.close());
      return app.get(RateLimiter);
    }),
  );
}

interface Load {
  readonly admitted: ReadonlyMap<string, number>;
  readonly decisions: readonly Decision[];
}

/** Each pod asks for each user, several times in a turn. */
async function load(limiters: readonly RateLimiter[], policies: readonly Policy[], rounds: number): Promise<Load> {
  const admitted = new Map<string, number>();
  const decisions: Decision[] = [];
  const ask = async (limiter: RateLimiter, value: string): Promise<void> => {
    const decision = await limiter.consume(policies, { kind: 'user', value });
    decisions.push(decision);
    if (decision.allowed) admitted.set(value, (admitted.get(value) ?? 0) + 1);
  };
  for (let round = 0; round < rounds; round++) {
    await Promise.all(limiters.flatMap((limiter) => USERS.flatMap((user) => [ask(limiter, user), ask(limiter, user)])));
  }
  return { admitted, decisions };
}

const byPrefetch = ({ decisions }: Load): number =>
  decisions.filter(({ decidedBy }) => decidedBy === 'prefetch').length;

describe('prefetches on a Cluster, by node', () => {
  it.each([BUCKET, WINDOW])('never admit more: $algorithm', async (policy) => {
    const masters = await on.cluster.masters();
    const owners = USERS.map((user) => slotOf(`{user:${user}}`) % masters.length);
    expect(new Set(owners).size).toBe(3);
    const limiters = await pods();
    const [byNode, bySlot] = [nodeCalls(), slotCalls()];
    // Half of the limit: each request passes, most of them without a call.
    const before = await load(limiters, [policy], LIMIT / PODS / 4);
    expect([...before.admitted.values()]).toEqual(USERS.map(() => LIMIT / 2));
    expect(byPrefetch(before)).toBeGreaterThan(before.decisions.length / 2);
    expect(nodeCalls() - byNode).toBeLessThan(before.decisions.length / 2);
    // Twice the limit.
    const after = await load(limiters, [policy], LIMIT / PODS);
    const totals = USERS.map((user) => before.admitted.get(user)! + (after.admitted.get(user) ?? 0));
    expect(Math.max(...totals)).toBeLessThanOrEqual(LIMIT);
    expect(Math.min(...totals)).toBeGreaterThan(0.9 * LIMIT);
    expect(slotCalls() - bySlot).toBeLessThan(0.01 * (nodeCalls() - byNode));
  });

  it('pay one of the charges of a request whose other keys lie on other nodes: all or nothing', async () => {
    const limiters = await pods();
    const bucket = { ...BUCKET, name: 'of-several' };
    const { admitted, decisions } = await load(limiters, [bucket, ALL], 60);
    const total = [...admitted.values()].reduce((sum, one) => sum + one, 0);
    expect(decisions.some(({ policies }) => policies[0]!.estimated === true)).toBe(true);
    expect(total).toBe(2_000);
    expect(Math.max(...admitted.values())).toBeLessThanOrEqual(LIMIT);
    // Rejected requests charged no bucket: what is left of each is what was not admitted, less what is prefetched.
    for (const close of open.splice(0).toReversed()) await close();
    const [limiter] = await pods();
    for (const user of USERS) {
      const { policies } = await limiter!.peek(bucket, { kind: 'user', value: user });
      expect(policies[0]!.remaining).toBeLessThanOrEqual(LIMIT - (admitted.get(user) ?? 0));
      expect(policies[0]!.remaining).toBeGreaterThan(LIMIT - (admitted.get(user) ?? 0) - 100);
    }
  });
});
