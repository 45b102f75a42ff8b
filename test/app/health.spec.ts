import { afterEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { until } from '../support/faults/until.js';
import { RedisServer } from '../support/redis-server.js';
import { RIDE } from './support/requests.js';
import { type Service, start } from './support/start-app.js';

const RECOVERY_MS = 10_000;

let service: Service;

afterEach(() => service.app.close());

const check = (): request.Test => request(service.url).get('/healthz');

describe('/healthz', () => {
  it('is up without REDIS_URL, since the process keeps the limits', async () => {
    service = await start({ RATE_LIMIT: 'on' });
    const { body, headers } = await check().expect(200);
    expect(body).toMatchObject({ status: 'ok', details: { rate_limit_store: { status: 'up' } } });
    expect(headers['cache-control']).toContain('no-store');
  });

  it('is degraded, not down, and serves requests while Redis is away', async () => {
    const redis = await RedisServer.start();
    try {
      service = await start({ RATE_LIMIT: 'on', REDIS_URL: redis.url });
      expect((await check().expect(200)).body.status).toBe('ok');
      await redis.kill();
      await Promise.all(
        Array.from({ length: 10 }, () => request(service.url).post('/api/rides/request').send(RIDE).expect(200)),
      );
      const { body } = await check().expect(200);
      // Nothing else: a prober must not learn the address of Redis.
      const details = {
        load: { status: 'up' },
        rate_limit_store: { status: 'degraded', outage_ms: expect.any(Number) },
      };
      expect(body).toEqual({ status: 'degraded', info: expect.anything(), error: expect.anything(), details });
      await redis.restart();
      await until('health', RECOVERY_MS, async () => (await check().expect(200)).body.status === 'ok');
    } finally {
      await redis.stop();
    }
  });
});
