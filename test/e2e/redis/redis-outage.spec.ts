import { Controller, Get } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, left, limited, limitHeaders, type Platform } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';

/** What the guard answers while Redis is away, and after it: test/faults judges deadlines and the breaker. */
@Controller()
class Routes {
  @Get()
  @RateLimit({ algorithm: 'token-bucket', capacity: 3, refill: '1/h' })
  get(): void {}
}

const RECOVERY_MS = 20_000;

let server: RedisServer;

beforeEach(async () => {
  server = await RedisServer.start();
});

afterEach(() => server.stop());

const served = (
  onStoreFailure: 'open' | 'closed',
  options: RateLimitModuleOptions = {},
  platform: Platform = 'Express',
): Promise<HttpApp> =>
  limited(platform, Routes, { identity: FROM_HEADERS, redis: server.url, onStoreFailure, ...options });

/** The status of an answer, and whether the store has decided it. */
async function answer(app: HttpApp, user = 'ada'): Promise<[number, boolean]> {
  const reply = await app.as(user, '/');
  return [reply.status, limitHeaders(reply).length > 0];
}

/** Waits until Redis decides. The error of a timeout has the logs as its cause. */
async function decided(app: HttpApp): Promise<void> {
  await until('Redis decides', RECOVERY_MS, async () => {
    if (!(await answer(app, 'anybody'))[1]) throw new Error(app.logs.text);
    return true;
  });
}

const OUTAGES: [string, () => void | Promise<void>, () => void | Promise<void>][] = [
  ['is paused', () => server.pause(), () => server.resume()],
  ['is killed', () => server.kill(), () => server.restart()],
];

describe('a Redis', () => {
  it.each(OUTAGES)(
    "that %s: with 'open' requests pass uncounted, and Redis decides again by itself",
    async (...row) => {
      const [, end, back] = row;
      await using app = await served('open');
      await decided(app);
      await end();
      expect(await app.crowd(5, '/', { headers: { 'X-User-Id': 'ada' } })).toEqual({ 200: 5 });
      expect(await answer(app)).toEqual([200, false]);
      await back();
      await decided(app);
      expect(app.logs.of('warn')).not.toEqual([]);
      expect(app.logs.of('error')).toEqual([]);
    },
  );

  it.each(OUTAGES)("that %s: with 'closed' requests get 503 until Redis is available", async (_, end, back) => {
    await using app = await served('closed', {}, 'Fastify');
    await decided(app);
    await end();
    for (let i = 0; i < 3; i++) expect(await answer(app)).toEqual([503, false]);
    await back();
    await decided(app);
  });

  it.each<[string, () => void | Promise<void>]>([
    ['gone', () => server.kill()],
    ['paused and then gone', () => server.pause()],
  ])('that was %s never counts the requests that passed meanwhile: none is queued or sent again', async (_, end) => {
    await using app = await served('open');
    await decided(app);
    await end();
    expect(await app.crowd(3, '/', { headers: { 'X-User-Id': 'late' } })).toEqual({ 200: 3 });
    await server.kill();
    await server.restart(); // without its data
    await decided(app);
    expect(left(await app.as('late', '/'))).toBe(2);
  });

  it.each(OUTAGES)('that %s at boot does not stop the boot, and decides once it is available', async (_, end, back) => {
    await end();
    const app = await served('open');
    try {
      expect(await answer(app)).toEqual([200, false]);
      await back();
      await decided(app);
    } finally {
      await back();
      await app.close();
    }
  });
});

it("a full Redis: with 'closed' requests get 503 until Redis has memory; a lost script is loaded again", async () => {
  const admin = new Redis(server.url);
  await using app = await served('closed', { deadline: '10s' });
  await admin.config('SET', 'maxmemory', '1');
  expect(await answer(app)).toEqual([503, false]);
  await admin.config('SET', 'maxmemory', '0');
  expect(await answer(app)).toEqual([200, true]);
  await admin.script('FLUSH');
  expect(await answer(app)).toEqual([200, true]);
  admin.disconnect();
});

it('a foreign value under a key fails only the requests of that key', async () => {
  const admin = new Redis(server.url);
  await using app = await served('closed', { deadline: '10s' });
  await answer(app);
  const [key = ''] = await admin.keys('*');
  await admin.del(key);
  await admin.lpush(key, 'something else');
  expect(await answer(app)).toEqual([503, false]);
  expect(await answer(app, 'bob')).toEqual([200, true]);
  admin.disconnect();
});
