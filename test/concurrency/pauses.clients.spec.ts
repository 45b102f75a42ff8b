import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { RedisCluster } from '../support/faults/redis-cluster.js';
import { Processes } from '../support/processes.js';
import { RedisServer } from '../support/redis-server.js';
import type { Given, procedures } from './workers/pausing.js';

const PODS = 3;
const CALLS = 5;
const MINUTE_MS = 60_000;
const POLICIES: Record<string, Policy> = {
  bucket: { algorithm: 'token-bucket', capacity: 100_000, refill: 1, by: 'global' },
  log: { algorithm: 'sliding-window-log', limit: 100_000, window: '30d', by: 'global' },
  slots: { algorithm: 'concurrency', limit: 100_000, lease: '1m', by: 'global' },
  ahead: {
    algorithm: 'token-bucket',
    capacity: 100_000,
    refill: 1_000,
    by: 'global',
    prefetch: { for: '100ms', max: 200 },
  },
  spread: { algorithm: 'fixed-window', limit: 100_000, window: '30d', by: 'global', shards: 4 },
};

interface World {
  readonly redis: Given['redis'];
  readonly stop: () => Promise<void>;
}

const WORLDS: Record<string, () => Promise<World>> = {
  'one server': async () => {
    const server = await RedisServer.start();
    return { redis: server.url, stop: () => server.stop() };
  },
  'a Cluster': async () => {
    const cluster = await RedisCluster.start([], { masters: 3, replicas: 0 });
    const nodes = (await cluster.masters()).map(({ host, port }) => ({ host, port }));
    return { redis: nodes, stop: () => cluster.stop() };
  },
};

describe.each(Object.keys(WORLDS))('on %s', (name) => {
  let world: World;
  let pods: Processes<typeof procedures>;
  beforeAll(async () => {
    world = await WORLDS[name]!();
    pods = await Processes.start<typeof procedures>(new URL('workers/pausing.ts', import.meta.url), PODS);
    await pods.all('open', () => ({ redis: world.redis, policies: POLICIES }));
  });
  afterAll(async () => {
    await pods?.stop();
    await world?.stop();
  });

  const run = (policy: string): Promise<readonly number[]> => pods.all('run', () => ({ policy, count: CALLS }));

  it.each(Object.keys(POLICIES))(
    "no process lets a call of '%s' run once one has paused it, and all do once one has reset it",
    async (policy) => {
      const all = Array.from({ length: PODS }, () => CALLS);
      expect(await run(policy)).toEqual(all);
      expect(await pods.one(0, 'pause', { policy, ms: MINUTE_MS })).toBe(true);
      expect(await run(policy)).toEqual(all.map(() => 0));
      await pods.one(1, 'reset', policy);
      expect(await run(policy)).toEqual(all);
    },
  );

  it('processes that pause at once pause for as long as the longest says, and no longer', async () => {
    const policy = 'bucket';
    await pods.all('pause', (i) => ({ policy, ms: MINUTE_MS * (i + 1) }));
    expect(await pods.all('pausedMs', () => policy)).toEqual(
      Array.from({ length: PODS }, () => expect.closeTo(PODS * MINUTE_MS, -4)),
    );
    await pods.one(0, 'reset', policy);
  });
});
