import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Cluster } from 'ioredis';
import {
  type Decision,
  type Policy,
  RateLimit,
  type RateLimitModuleOptions,
  type StoreStateChange,
} from 'nestjs-floodgate';
import { ADA, Pod } from '../support/faults/pod.js';
import { record } from '../support/faults/record.js';
import { RedisCluster } from '../support/faults/redis-cluster.js';
import { limited, PLATFORMS } from '../support/http-app.js';
import { RedisServer } from '../support/redis-server.js';

jest.setTimeout(120_000); // it is real time, and the machine may be busy

const STALLS_MS = [500, 1000, 3000, 10_000];
/** Shorter than every stall, and longer than Redis waits for a processor on a busy machine. */
const DEADLINE_MS = 250;
/** The sender, the application and Redis share two processors for seconds. */
const BURST_DEADLINE_MS = 1000;

let server: RedisServer;
let changes: StoreStateChange[];

beforeEach(async () => {
  server = await RedisServer.start();
  changes = [];
});

afterEach(() => server.stop());

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
    await using pod = await Pod.start(watched({ redis: server.url }));
    await expectDecidedByRedis(pod, ms);
    await pod.conclude(`event loop stalls for ${ms} ms`, { answers: [] });
  });

  it('of 500 ms, at any question of a request that runs over to the policy behind an else', async () => {
    const credits: Policy = { algorithm: 'token-bucket', capacity: 1000, refill: '1/h' };
    await using pod = await Pod.start(watched({ redis: server.url, policies: { credits } }));
    const full: Policy = { name: 'full', algorithm: 'fixed-window', limit: 1, window: '300d', else: 'credits' };
    const ask = (): Promise<Decision> => pod.limiter.consume(full, ADA);
    expect(await ask()).toMatchObject({ decidedBy: 'store', policies: [{ policy: 'full' }] });
    // Before a question is sent, while it is under way, and after its answer was read.
    for (let turns = 0; turns < 8; turns++) {
      const answers = [ask(), ask()];
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve));
      answers.push(ask());
      stall(500);
      for (const answer of await Promise.all(answers)) {
        expect(answer).toMatchObject({ decidedBy: 'store', policies: [{ policy: 'credits' }] });
      }
    }
    expect(changes).toEqual([]);
  });

  it('of 1,500 ms, again and again', async () => {
    await using pod = await Pod.start(watched({ redis: server.url }));
    for (let i = 0; i < 5; i++) await expectDecidedByRedis(pod, 1500);
    await pod.conclude('event loop stalls for 1,500 ms, five times', { answers: [] });
  });

  it('while the connection is made: the connection is kept, and Redis decides soon', async () => {
    const starting = Pod.start(watched({ redis: server.url }));
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

  it.each([1500, 4000])('a stall of %i ms is no outage either', async (ms) => {
    const client = new Cluster(cluster.addresses);
    client.on('error', () => undefined);
    await using pod = await Pod.start(watched({ redis: client }));
    await pod.recovered();
    changes.length = 0;
    await expectDecidedByRedis(pod, ms);
    client.disconnect();
    await pod.conclude(`cluster: event loop stalls for ${ms} ms`, { answers: [] });
  });
});

@Controller()
class Routes {
  @Get()
  @RateLimit({ name: 'all', algorithm: 'fixed-window', limit: 100, window: '300d', by: 'global' })
  get(): void {}
}

describe.each(PLATFORMS)('pipelined requests of another process, over %s', (platform) => {
  it.each([
    [200, 50],
    [200, 150],
    [1000, 10],
  ])('%i connections with %i each admit exactly the limit', async (connections, requests) => {
    await using app = await limited(platform, Routes, watched({ redis: server.url, deadline: BURST_DEADLINE_MS }));
    const pipeliner = fileURLToPath(new URL('workers/pipeliner.js', import.meta.url));
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [pipeliner, app.port, connections, requests].map(String),
    );
    const counts = JSON.parse(stdout) as Readonly<Record<string, number>>;
    record(`${connections} x ${requests} pipelined requests, ${platform}`, {
      answers: [],
      doubles: 0,
      overAdmissions: counts['200']! - 100,
    });
    expect(counts).toEqual({ 200: 100, 429: connections * requests - 100 });
    expect(changes).toEqual([]);
  });
});
