import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
} from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { type HttpApp, start } from '../support/http-app.js';
import { Processes } from '../support/processes/processes.js';
import { RedisServer } from '../support/redis-server.js';

import type { OverriddenPod } from './workers/overridden.js';

// docs/errors.md shows the warnings.

jest.setTimeout(60_000);

const API: Policy = { name: 'api', algorithm: 'token-bucket', capacity: 3, refill: '1/h' };
const ADA = { kind: 'user', value: 'ada' };
const TARGET = { policy: 'api', identity: ADA };
/** The promise. A busy machine takes extra time: tests that measure it say so. */
const OBEYED_MS = 1000;
const BUSY_MS = 1000;

let server: RedisServer;
let admin: Redis;

beforeEach(async () => {
  server = await RedisServer.start();
  admin = new Redis(server.url);
  admin.on('error', () => undefined); // tests kill Redis
});

afterEach(async () => {
  admin.disconnect();
  await server.stop();
});

class AppPod {
  private constructor(readonly http: HttpApp) {}

  static async start(options: RateLimitModuleOptions = {}): Promise<AppPod> {
    return new AppPod(
      await start('Express', {
        imports: [RateLimitModule.forRoot({ redis: server.url, policies: { api: API }, ...options })],
      }),
    );
  }

  get limiter(): RateLimiter {
    return this.http.app.get(RateLimiter);
  }

  get overrides(): RateLimitOverrides {
    return this.http.app.get(RateLimitOverrides);
  }

  async limit(): Promise<number> {
    return (await this.limiter.peek('api', ADA)).policies[0]!.limit;
  }

  warnings(): string[] {
    return this.http.logs.of('warn').filter((line) => line.includes('overrides'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.http.close();
  }
}

/** Milliseconds until all pods have the limit. */
async function obeyed(pods: readonly AppPod[], limit: number): Promise<number> {
  const since = performance.now();
  await Promise.all(
    pods.map((pod) => until(`the limit is ${limit}`, 10_000, async () => (await pod.limit()) === limit)),
  );
  return performance.now() - since;
}

/** How often a command was called. */
async function calls(command: string): Promise<number> {
  const stats = await admin.info('commandstats');
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
}

it('is obeyed by the pod that sets it at once, and by every other one within a second', async () => {
  await using one = await AppPod.start();
  await using two = await AppPod.start();
  await using three = await AppPod.start();
  const pods = [one, two, three];
  const tookMs: number[] = [];
  for (let capacity = 10; capacity < 16; capacity++) {
    const [setter, ...others] = [...pods.slice(capacity % 3), ...pods.slice(0, capacity % 3)];
    await setter!.overrides.set(TARGET, { capacity });
    expect(await setter!.limit()).toBe(capacity);
    tookMs.push(await obeyed(others, capacity));
  }
  await two.overrides.remove(TARGET);
  tookMs.push(await obeyed(pods, 3));
  expect(Math.max(...tookMs)).toBeLessThan(OBEYED_MS + BUSY_MS);
  expect(tookMs.toSorted((a, b) => a - b)[3]).toBeLessThan(OBEYED_MS);
});

it('is obeyed by four processes within a second', async () => {
  await using pods = await Processes.start<OverriddenPod>(new URL('workers/overridden.ts', import.meta.url), 4);
  await pods.all('boot', () => server.url);
  const tookMs: number[] = [];
  for (let round = 0; round < 8; round++) {
    const obeyedAt = await pods.all('obey', (i) => ({ capacity: 10 + round, sets: i === round % 4 }));
    const setAt = obeyedAt[round % 4]!;
    tookMs.push(...obeyedAt.map((at) => at - setAt));
  }
  expect(Math.max(...tookMs)).toBeLessThan(OBEYED_MS + BUSY_MS);
  expect(tookMs.toSorted((a, b) => a - b)[24]).toBeLessThan(OBEYED_MS);
});

it('ends by itself on every pod, without a change', async () => {
  await using one = await AppPod.start();
  await using two = await AppPod.start();
  const { version, expiresAtMs } = await one.overrides.set(TARGET, { capacity: 9 }, { expiresIn: '2s' });
  await obeyed([one, two], 9);
  await obeyed([one, two], 3);
  const [seconds, microseconds] = await admin.time();
  const lateMs = Number(seconds) * 1000 + Number(microseconds) / 1000 - expiresAtMs!;
  expect(lateMs).toBeGreaterThan(-100);
  expect(lateMs).toBeLessThan(BUSY_MS);
  expect(await admin.get('rl:{overrides}:version')).toBe(String(version));
  expect(await two.overrides.get(TARGET)).toBeUndefined();
  expect((await two.overrides.list()).items).toEqual([]);
  // The next change clears the record.
  await one.overrides.set({ policy: 'api', identity: 'user:bob' }, { capacity: 9 });
  expect(await admin.hkeys('rl:{overrides}:records')).toEqual(['user:bob\napi\n']);
});

it('stays in force while Redis is away, and for the fallback as well', async () => {
  await using pod = await AppPod.start();
  await pod.overrides.set(TARGET, { capacity: 9 });
  await pod.overrides.set({ policy: 'api', identity: 'user:eve' }, { blocked: true });
  await server.kill();
  await until('Redis is away', 5000, async () => (await pod.limiter.peek('api', ADA)).decidedBy === 'local');
  await delay(600);
  expect(await pod.limit()).toBe(9);
  expect(await pod.limiter.consume('api', { kind: 'user', value: 'eve' })).toMatchObject({
    allowed: false,
    decidedBy: 'override',
  });
  await expect(pod.overrides.set(TARGET, { capacity: 5 })).rejects.toThrow(/^RateLimitOverrides\.set: /);
  expect(await pod.limit()).toBe(9);

  // This Redis keeps nothing: with it the overrides have gone, on every pod.
  await server.restart();
  await obeyed([pod], 3);
  expect(pod.warnings()).toEqual([
    expect.stringMatching(
      /^All overrides were read again, and there are 2 less \(0 in force\): Redis may have lost some/,
    ),
  ]);
  await pod.overrides.set(TARGET, { capacity: 7 });
  expect(await pod.limit()).toBe(7);
});

it('says that it has none when it starts without Redis, and reads them when Redis comes', async () => {
  {
    await using pod = await AppPod.start();
    await pod.overrides.set(TARGET, { capacity: 9 });
  }
  const [records, versions, changes, version] = await Promise.all(
    ['records', 'versions', 'changes', 'version'].map((part) => admin.dumpBuffer(`rl:{overrides}:${part}`)),
  );
  await server.kill();
  await using pod = await AppPod.start();
  expect(await pod.limit()).toBe(3);
  expect(pod.limiter.stats().overrides).toEqual({ count: 0, loaded: false });
  expect(pod.warnings()).toEqual([
    expect.stringMatching(/^No overrides are in force until Redis tells which there are: /),
  ]);
  await server.restart();
  const restored = new Redis(server.url);
  await restored.restore('rl:{overrides}:records', 0, records!);
  await restored.restore('rl:{overrides}:versions', 0, versions!);
  await restored.restore('rl:{overrides}:changes', 0, changes!);
  await restored.restore('rl:{overrides}:version', 0, version!);
  restored.disconnect();
  await obeyed([pod], 9);
  expect(pod.limiter.stats().overrides).toEqual({ count: 1, loaded: true });
  expect(pod.warnings()).toHaveLength(1);
});

it('asks one question at a time while Redis hangs, and obeys soon after', async () => {
  await using one = await AppPod.start();
  await using two = await AppPod.start();
  await one.overrides.set(TARGET, { capacity: 9 });
  await obeyed([two], 9);
  const before = await calls('evalsha');
  server.pause();
  await delay(5000);
  server.resume();
  await until('Redis answers', 5000, async () => (await one.limiter.peek('api', ADA)).decidedBy === 'store');
  // Of each pod: the poll that hangs, those since, and probes on the new connection. 5 s of polls would be 25.
  expect((await calls('evalsha')) - before).toBeLessThan(16);
  await one.overrides.set(TARGET, { capacity: 8 });
  expect(await obeyed([two], 8)).toBeLessThan(OBEYED_MS + BUSY_MS);
});

it('asks nothing more once the application is closed', async () => {
  await (async () => {
    await using pod = await AppPod.start();
    expect(await pod.limit()).toBe(3);
  })();
  const before = await calls('evalsha');
  await delay(1000);
  expect(await calls('evalsha')).toBe(before);
});

describe('with a Redis user', () => {
  const RIGHTS = 'evalsha eval time get mget exists set del llen lindex rpush ltrim expireat pexpire info'.split(' ');
  /** The rights of the ACL line in docs/redis.md that overrides need. */
  const MORE = 'hget hmget hset hdel hlen zadd zrem zrangebyscore xadd xrange xrevrange'.split(' ');

  async function podWith(rights: readonly string[]): Promise<AppPod> {
    await admin.call(
      'ACL',
      'SETUSER',
      'pod',
      'reset',
      'on',
      '>secret',
      '~rl:*',
      '-@all',
      ...rights.map((r) => `+${r}`),
    );
    const url = new URL(server.url);
    [url.username, url.password] = ['pod', 'secret'];
    return AppPod.start({ redis: url.href });
  }

  it('needs no more rights than before, until there is an override', async () => {
    await using pod = await podWith(RIGHTS);
    await delay(1000);
    expect(await pod.limit()).toBe(3);
    expect(pod.http.logs.of('warn')).toEqual([]);
    expect(await admin.call('ACL', 'LOG')).toEqual([]);
    await expect(pod.overrides.set(TARGET, { capacity: 9 })).rejects.toThrow(/can't run this command|NOPERM/);
    await using other = await AppPod.start();
    await other.overrides.set(TARGET, { capacity: 9 });
    // Nest has one logger in a process: that of the last application.
    await until('the log names the problem', 5000, () => other.warnings().length > 0);
    await delay(1000);
    expect(other.warnings()).toEqual([
      expect.stringMatching(
        /^The last known overrides stay in force \(0\) until Redis tells .*(?:can't run this command|NOPERM)/,
      ),
    ]);
    expect(await pod.limit()).toBe(3);
  });

  it('does everything with the rights of docs/redis.md', async () => {
    await using pod = await podWith([...RIGHTS, ...MORE]);
    await using other = await podWith([...RIGHTS, ...MORE]);
    await pod.overrides.set(TARGET, { capacity: 9 }, { expiresIn: '1s' });
    await obeyed([other], 9);
    await obeyed([other], 3);
    await pod.overrides.set(TARGET, { capacity: 8 });
    expect((await pod.overrides.list()).items).toHaveLength(1);
    expect((await pod.overrides.history(TARGET)).items).toHaveLength(2);
    expect(await pod.overrides.get(TARGET)).toMatchObject({ change: { capacity: 8 } });
    expect(await pod.overrides.remove(TARGET)).toBe(true);
    expect(await admin.call('ACL', 'LOG')).toEqual([]);
    expect(pod.http.logs.of('warn')).toEqual([]);
  });
});
