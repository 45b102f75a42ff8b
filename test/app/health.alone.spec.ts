import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import request from 'supertest';
import { until } from '../support/faults/until.js';
import { RedisServer } from '../support/redis-server.js';
import { RIDE } from './support/requests.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

jest.setTimeout(20_000); // it is real time, and the machine may be busy

const RECOVERY_MS = 5000;

let service: Service;

afterEach(() => service.app.close());

const check = (): request.Test => request(service.url).get('/healthz');

describe.each(PLATFORMS)('/healthz over %s', (platform) => {
  it('is up without REDIS_URL, since the process keeps the limits', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const { body, headers } = await check().expect(200);
    expect(body).toMatchObject({ status: 'ok', details: { rate_limit_store: { status: 'up' } } });
    expect(headers['cache-control']).toContain('no-store');
  });

  it('is degraded, not down, and serves rides while the process sheds load', async () => {
    service = await start(platform, { RATE_LIMIT: 'on', SHED_LOAD: 'on' });
    expect((await check().expect(200)).body).toMatchObject({ status: 'ok', details: { load: { status: 'up' } } });
    const stats = () => service.app.get(RateLimiter).stats().shedding!;
    // Background requests only: first a part of them, then all.
    while (stats().level < 0.5) {
      const busyUntil = performance.now() + 150;
      while (performance.now() < busyUntil);
      await nextTurn();
    }
    const { body } = await check().expect(200);
    expect(body).toMatchObject({
      status: 'degraded',
      details: { load: { status: 'degraded', shed_level: expect.any(Number), over: expect.any(String) } },
    });
    await request(service.url).post('/api/rides/request').send(RIDE).expect(200);
    const { headers } = await request(service.url).get('/api/trips/export').set('X-User-Id', 'rider-1').expect(503);
    expect(headers['retry-after']).toBe('5');
  });

  it.each<[string, (redis: RedisServer) => unknown, (redis: RedisServer) => unknown]>([
    ['killed', (redis) => redis.kill(), (redis) => redis.restart()],
    ['stopped', (redis) => redis.pause(), (redis) => redis.resume()],
  ])('is degraded, not down, and serves requests while Redis is %s', async (_, end, back) => {
    const redis = await RedisServer.start();
    try {
      service = await start(platform, { RATE_LIMIT: 'on', REDIS_URL: redis.url });
      expect((await check().expect(200)).body.status).toBe('ok');
      await end(redis);
      await Promise.all(
        Array.from({ length: 10 }, () => request(service.url).post('/api/rides/request').send(RIDE).expect(200)),
      );
      const { body } = await check().expect(200);
      expect(body).toMatchObject({
        status: 'degraded',
        details: { rate_limit_store: { status: 'degraded', outage_ms: expect.any(Number) } },
      });
      expect(JSON.stringify(body)).not.toContain(String(redis.port)); // a prober must not learn the address of Redis
      await back(redis);
      await until('health', RECOVERY_MS, async () => (await check().expect(200)).body.status === 'ok');
    } finally {
      await redis.stop();
    }
  });
});
