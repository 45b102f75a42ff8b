import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { arrivals, expectLocal, timesOf } from '../support/faults/arrivals.js';
import { Lookups } from '../support/faults/hanging-lookups.js';
import { useOneRedis } from '../support/faults/one-redis.js';
import { CAPACITY, Pod } from '../support/faults/pod.js';
import { until } from '../support/faults/until.js';
import { RedisServer } from '../support/redis-server.js';

const LIMIT_MS = 10_000;

const on = useOneRedis();

describe('a Redis that plain ioredis can use decides', () => {
  it.each<[string, number, () => unknown, () => string]>([
    ['the lookup of its name takes 900 ms', 900, () => undefined, () => `redis://redis.test:${on.server.port}`],
    ['the first answer on a connection takes 900 ms', 0, () => on.proxy.answerLate(900), () => on.proxy.url],
    ['the first answer on a connection takes 1500 ms', 0, () => on.proxy.answerLate(1500), () => on.proxy.url],
    ['both are slow', 400, () => on.proxy.answerLate(600), () => `redis://redis.test:${on.proxy.port}`],
  ])('when %s', async (fault, lookupMs, begin, url) => {
    using lookups = new Lookups(lookupMs);
    begin();
    const pod = await on.start({ redis: url() });
    const recoveryMs = await pod.recovered();
    expect(lookups.mostInFlight).toBeLessThanOrEqual(1);
    await pod.conclude(fault, { answers: [], recoveryMs });
  });

  it('when the network loses the first connections: one is made after the other, and none beside it', async () => {
    on.proxy.blackHole();
    const pod = await on.start({ redis: on.proxy.url });
    const [since, accepted] = [performance.now(), on.proxy.accepted];
    await delay(2500);
    expect(on.proxy.accepted - accepted).toBeLessThanOrEqual((performance.now() - since) / 2000 + 1);
    expect(on.proxy.open).toBeLessThanOrEqual(1);
    await on.proxy.pass();
    const recoveryMs = await pod.recovered();
    expect(on.proxy.open).toBe(1);
    await pod.conclude('black hole from the start', { answers: [], recoveryMs });
  });
});

it('while lookups hang, one is under way and files are read; Redis decides when the lookups return', async () => {
  using lookups = new Lookups();
  const pod = await on.start({ redis: `redis://redis.test:${on.proxy.port}` });
  await pod.recovered();
  lookups.hang();
  const before = lookups.begun;
  await on.proxy.refuse(); // a new connection needs the name
  const answers = await arrivals(pod, 50);
  await until('a lookup hangs', LIMIT_MS, () => lookups.inFlight === 1);
  for (let i = 0; i < 10; i++) {
    await readFile(new URL(import.meta.url)); // needs a thread of libuv
    answers.push(...(await arrivals(pod, 50)));
    await delay(200);
  }
  expectLocal(answers);
  expect([lookups.begun - before, lookups.inFlight]).toEqual([1, 1]);
  await on.proxy.pass();
  lookups.release();
  const recoveryMs = await pod.recovered();
  await pod.conclude('lookups that hang', { answers: timesOf(answers), recoveryMs });
});

it('the log names a server that is no Redis, or rejects connections', async () => {
  await using server = await RedisServer.start({ args: ['--maxclients', '1'] });
  const only = new Redis(server.url);
  await only.ping();
  const pod = await on.start({ redis: server.url });
  expect((await pod.ask()).decidedBy).toBe('local');
  expect(pod.app.logs.of('warn').join()).toContain('max number of clients');
  only.disconnect();
  await pod.recovered();
  await using http = await Pod.start({});
  const other = await on.start({ redis: `redis://127.0.0.1:${http.app.port}` });
  expect((await other.ask()).decidedBy).toBe('local');
  expect(other.app.logs.of('warn').join()).toContain('the server is no Redis: it answers');
});

describe('a Redis that is killed and loads much data', () => {
  // Each key takes Redis two milliseconds to load, until the setting changes; it serves clients after every 1,024 bytes.
  const KEYS = 2000;
  const loading = useOneRedis({
    keepsData: true,
    args: ['--key-load-delay', '2000', '--loading-process-events-interval-bytes', '1024'],
  });

  it('(LOADING) delays no request, and decides from its own data', async () => {
    const { admin, server } = loading;
    const pod = await loading.start();
    await pod.recovered();
    await admin.mset(Object.fromEntries(Array.from({ length: KEYS }, (_, i) => [`ballast ${i}`, 'x'.repeat(100)])));
    await admin.bgrewriteaof(); // a rewritten file is loaded key by key
    await until('it is rewritten', LIMIT_MS, async () =>
      (await admin.info('persistence')).includes('aof_rewrite_in_progress:0'),
    );
    while (CAPACITY - (await pod.leftInRedis()) < 100) await pod.ask();
    await server.kill();
    const back = server.restart();
    await until('it loads', LIMIT_MS, async () => (await admin.info('persistence')).includes('loading:1'));
    const answers = await arrivals(pod, 200);
    expectLocal(answers);
    await admin.config('SET', 'key-load-delay', '0');
    await back;
    const recoveryMs = await pod.recovered();
    expect(CAPACITY - (await pod.leftInRedis())).toBe(100);
    await pod.conclude('LOADING', { answers: timesOf(answers), recoveryMs });
  });
});
