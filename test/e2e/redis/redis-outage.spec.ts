import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { RateLimit, RateLimitModule } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, left, limited, limitHeaders, PLATFORMS, start } from '../../support/http-app.js';
import { inTime } from '../../support/in-time.js';
import { RedisServer } from '../../support/redis-server.js';

jest.setTimeout(30_000); // the test runs in real time, and the machine may be busy

@Controller()
class Routes {
  @Get()
  @RateLimit({ algorithm: 'token-bucket', capacity: 3, refill: '1/h' })
  get(): void {}
}

const DEADLINE_MS = 50;
const RECOVERY_MS = 5000;

let server: RedisServer;

beforeEach(async () => {
  server = await RedisServer.start();
});

afterEach(() => server.stop());

/** The answer to a request, and whether it came within the deadline. */
async function answer(app: HttpApp): Promise<{ status: number; limited: boolean; inTime: boolean }> {
  const { result, inTime: done } = await inTime(DEADLINE_MS, () => app.as('ada', '/'));
  return { status: result.status, limited: limitHeaders(result).length > 0, inTime: done };
}

/** Waits until Redis decides again. The error of a timeout has the logs as its cause. */
async function recovered(app: HttpApp): Promise<void> {
  await until('Redis decides again', RECOVERY_MS, async () => {
    if (!(await answer(app)).limited) throw new Error(app.logs.text);
    return true;
  });
}

const OUTAGES: [string, () => void | Promise<void>, () => void | Promise<void>][] = [
  ['is paused', () => server.pause(), () => server.resume()],
  ['is killed', () => server.kill(), () => server.restart()],
];

describe.each(PLATFORMS)('over %s, a Redis', (platform) => {
  it.each(OUTAGES)(
    "that %s: with 'open' requests pass within the deadline, and Redis decides again by itself",
    async (_, end, back) => {
      await using app = await limited(platform, Routes, {
        identity: FROM_HEADERS,
        redis: server.url,
        onStoreFailure: 'open',
      });
      expect(await answer(app)).toEqual({ status: 200, limited: true, inTime: true });
      await end();
      for (let i = 0; i < 3; i++) expect(await answer(app)).toEqual({ status: 200, limited: false, inTime: true });
      await back();
      await recovered(app);
      expect(app.logs.of('warn').length).toBeGreaterThan(0);
      expect(app.logs.of('error')).toEqual([]);
      await app.crowd(4, '/', { headers: { 'X-User-Id': 'ada' } });
      expect(await answer(app)).toEqual({ status: 429, limited: true, inTime: true });
    },
  );

  it.each(OUTAGES)(
    "that %s: with 'closed' requests get 503 within the deadline until Redis is available",
    async (_, end, back) => {
      await using app = await limited(platform, Routes, {
        identity: FROM_HEADERS,
        redis: server.url,
        onStoreFailure: 'closed',
      });
      expect((await answer(app)).status).toBe(200);
      await end();
      for (let i = 0; i < 3; i++) expect(await answer(app)).toEqual({ status: 503, limited: false, inTime: true });
      await back();
      await recovered(app);
    },
  );

  it.each<[string, () => void | Promise<void>]>([
    ['gone', () => server.kill()],
    ['paused and then gone', () => server.pause()],
  ])('that was %s never counts the requests that passed meanwhile: none is queued or sent again', async (_, end) => {
    await using app = await limited(platform, Routes, {
      identity: FROM_HEADERS,
      redis: server.url,
      onStoreFailure: 'open',
    });
    expect(left(await app.as('late', '/'))).toBe(2);
    await end();
    expect(await app.crowd(3, '/', { headers: { 'X-User-Id': 'late' } })).toEqual({ 200: 3 });
    await server.kill();
    await server.restart(); // without its data
    await recovered(app);
    expect(left(await app.as('late', '/'))).toBe(2);
  });

  it("that is full: with 'closed' requests get 503 within the deadline until Redis has memory", async () => {
    const admin = new Redis(server.url);
    await using app = await limited(platform, Routes, {
      identity: FROM_HEADERS,
      redis: server.url,
      onStoreFailure: 'closed',
    });
    await admin.config('SET', 'maxmemory', '1');
    expect(await answer(app)).toEqual({ status: 503, limited: false, inTime: true });
    await admin.config('SET', 'maxmemory', '0');
    expect(await answer(app)).toEqual({ status: 200, limited: true, inTime: true });
    admin.disconnect();
  });

  it('that has lost the script still decides', async () => {
    const admin = new Redis(server.url);
    await using app = await limited(platform, Routes, {
      identity: FROM_HEADERS,
      redis: server.url,
      onStoreFailure: 'open',
    });
    expect(await answer(app)).toMatchObject({ limited: true });
    await admin.script('FLUSH');
    expect(await answer(app)).toMatchObject({ limited: true });
    admin.disconnect();
  });

  it('that has a foreign value under a key fails only the requests of that key', async () => {
    const admin = new Redis(server.url);
    await using app = await limited(platform, Routes, {
      identity: FROM_HEADERS,
      redis: server.url,
      onStoreFailure: 'closed',
    });
    await answer(app);
    const [key = ''] = await admin.keys('*');
    await admin.del(key);
    await admin.lpush(key, 'something else');
    expect(await answer(app)).toMatchObject({ status: 503 });
    expect((await app.as('bob', '/')).status).toBe(200);
    admin.disconnect();
  });

  it.each<[string, () => void | Promise<void>, () => void | Promise<void>]>([
    ['gone', () => server.kill(), () => server.restart()],
    ['paused', () => server.pause(), () => server.resume()],
  ])('that is %s at boot does not stop the boot, and decides once it is available', async (_, end, back) => {
    await end();
    const boot = limited(platform, Routes, { identity: FROM_HEADERS, redis: server.url, onStoreFailure: 'open' });
    const app = await Promise.race([boot, delay(4000, undefined, { ref: false })]);
    try {
      expect(app).toBeDefined();
      expect(await answer(app!)).toEqual({ status: 200, limited: false, inTime: true });
      await back();
      await recovered(app!);
    } finally {
      await back();
      await (await boot).close();
    }
  });

  it('that a handed-in client has lost delays requests no longer than the deadline, with any options of the client', async () => {
    const client = new Redis(server.url, {
      retryStrategy: () => 20,
      maxRetriesPerRequest: null,
      disconnectTimeout: 50,
    });
    client.on('error', () => undefined);
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot({ identity: FROM_HEADERS, redis: client, onStoreFailure: 'open' })],
      controllers: [Routes],
    });
    expect(await answer(app)).toMatchObject({ limited: true });
    await server.kill();
    expect(await answer(app)).toEqual({ status: 200, limited: false, inTime: true });
    await server.restart();
    await recovered(app);
    client.disconnect();
  });
});
