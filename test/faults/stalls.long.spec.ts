import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import type { Decision, Policy, RateLimitModuleOptions } from 'nestjs-floodgate';
import { useOneRedis } from '../support/faults/one-redis.js';
import { ADA, Pod } from '../support/faults/pod.js';
import { RedisCluster } from '../support/faults/redis-cluster.js';

const STALLS_MS = [600, 3000, 10_000];
/** Shorter than every stall, and longer than Redis waits for a processor on a busy machine. */
const DEADLINE_MS = 500;

const on = useOneRedis();
const { changes } = on;

const watched = (options: RateLimitModuleOptions): RateLimitModuleOptions => ({
  deadline: DEADLINE_MS,
  ...options,
  onStoreStateChange: (change) => void changes.push(change),
});

/** Blocks the event loop. */
function stall(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Checks that Redis decides the requests before, right before and after a stall. */
async function expectDecidedByRedis(pod: Pod, ms: number): Promise<void> {
  const answers = [];
  for (let i = 0; i < 5; i++) answers.push(pod.ask());
  await delay(1); // the requests are sent
  answers.push(pod.ask(), pod.ask());
  stall(ms);
  answers.push(pod.ask());
  await delay(0);
  answers.push(pod.ask());
  await Promise.all(answers);
  answers.push(pod.ask());
  const by = (await Promise.all(answers)).map(({ decidedBy }) => decidedBy);
  expect(by).toEqual(by.map(() => 'store'));
  expect(changes).toEqual([]);
}

describe('a stall of the event loop is no outage', () => {
  it.each(STALLS_MS)('of %i ms', async (ms) => {
    await using pod = await Pod.start(watched({ redis: on.server.url }));
    await expectDecidedByRedis(pod, ms);
    await pod.conclude(`event loop stalls for ${ms} ms`, { answers: [] });
  });

  it('of 600 ms, at any question of a request that runs over to the policy behind an else', async () => {
    const credits: Policy = { algorithm: 'token-bucket', capacity: 1000, refill: '1/h' };
    await using pod = await Pod.start(watched({ redis: on.server.url, policies: { credits } }));
    const full: Policy = { name: 'full', algorithm: 'fixed-window', limit: 1, window: '300d', else: 'credits' };
    const ask = (): Promise<Decision> => pod.limiter.consume(full, ADA);
    expect(await ask()).toMatchObject({ decidedBy: 'store', policies: [{ policy: 'full' }] });
    // Before a question is sent, while it is under way, and after its answer was read.
    for (let turns = 0; turns < 8; turns++) {
      const answers = [ask(), ask()];
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
      answers.push(ask());
      stall(600);
      for (const answer of await Promise.all(answers)) {
        expect(answer).toMatchObject({ decidedBy: 'store', policies: [{ policy: 'credits' }] });
      }
    }
    expect(changes).toEqual([]);
  });

  it('while the connection is made: the connection is kept, and Redis decides soon', async () => {
    const starting = Pod.start(watched({ redis: on.server.url }));
    for (const ms of [5, 5, 5, 5]) {
      await delay(ms);
      stall(1200);
    }
    await using pod = await starting;
    await pod.recovered();
    await pod.conclude('event loop stalls while Redis is connected to', { answers: [] });
  });
});

describe('with a Cluster', () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await RedisCluster.start(['--cluster-node-timeout', '60000']);
  });
  afterAll(() => cluster.stop());

  it('a stall of 4 s is no outage either', async () => {
    const client = new Cluster(cluster.addresses);
    client.on('error', () => undefined);
    await using pod = await Pod.start(watched({ redis: client }));
    await pod.recovered();
    changes.length = 0;
    await expectDecidedByRedis(pod, 4000);
    client.disconnect();
    await pod.conclude('cluster: event loop stalls for 4 s', { answers: [] });
  });
});
