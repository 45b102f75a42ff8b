import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import request from 'supertest';
import { until } from '../support/faults/until.js';
import { RedisServer } from '../support/redis-server.js';
import { RIDE } from './support/requests.js';
import { ServiceProcess } from './support/service-process.js';
import { type Service, start } from './support/start-app.js';

jest.setTimeout(40_000);

const TOKEN = '0123456789abcdef0123456789abcdef';
const ON = { RATE_LIMIT: 'on', MATCHING_SERVICE_MS: '0', ADMIN_TOKEN: TOKEN };
const RIDER = { kind: 'user', value: 'rider-7' };
const RAISED = { policy: 'rider', identity: RIDER, change: { capacity: 5, refill: 1 } };
/** The endpoints that docs/admin.md lists. */
const ENDPOINTS = [
  ['get', 'table'],
  ['get', 'top-rejected'],
  ['post', 'explain'],
  ['post', 'reset'],
  ['get', 'overrides'],
  ['put', 'overrides'],
  ['post', 'overrides/find'],
  ['post', 'overrides/remove'],
  ['get', 'overrides/history'],
  ['post', 'overrides/history'],
] as const;
type Endpoint = (typeof ENDPOINTS)[number];

const services: Service[] = [];

afterEach(async () => {
  for (const { app } of services.splice(0)) await app.close();
});

/** Sends a request like an operator. */
function operate(url: string, [method, path]: Endpoint, body?: object, token = TOKEN): request.Test {
  const asked = request(url)[method](`/api/admin/limits/${path}`).set('Authorization', `Bearer ${token}`);
  return body === undefined ? asked : asked.send(body);
}

async function ride(url: string): Promise<{ status: number; limit: string | undefined }> {
  const { status, headers } = await request(url)
    .post('/api/rides/request')
    .set('X-User-Id', RIDER.value)
    .send({ ...RIDE, rider_id: RIDER.value });
  return { status, limit: headers['x-ratelimit-limit'] };
}

describe('/api/admin/limits', () => {
  async function open(variables: Record<string, string> = ON): Promise<Service> {
    const service = await start(variables);
    services.push(service);
    return service;
  }

  it('overrides the limit of one rider for a day, in two processes, and says so until it is removed', async () => {
    const redis = await RedisServer.start();
    try {
      const variables = { ...ON, REDIS_URL: redis.url };
      const { url } = await open(variables);
      await using other = await ServiceProcess.start('main', variables);
      expect([await ride(url), await ride(other.url)]).toEqual([
        { status: 200, limit: '20' },
        { status: 200, limit: '20' },
      ]);

      const asked = Date.now();
      const set = await operate(url, ['put', 'overrides'], {
        ...RAISED,
        expiresIn: '24h',
        author: 'ada',
        reason: 'ticket 7',
      }).expect(200);
      expect(set.body).toMatchObject({ identity: 'user:rider-7', change: RAISED.change, author: 'ada' });
      expect(Math.abs(set.body.expiresAtMs - asked - 24 * 3_600_000)).toBeLessThan(60_000);
      expect((await ride(url)).limit).toBe('5');
      await until('the other process to obey', 10_000, async () => (await ride(other.url)).limit === '5');
      const explained = await operate(other.url, ['post', 'explain'], {
        identity: RIDER,
        route: 'POST /api/rides/request',
      }).expect(200);
      const rider = explained.body.policies.find(({ policy }: { policy: string }) => policy === 'rider');
      expect(rider).toMatchObject({ numbers: RAISED.change, override: { version: set.body.version, author: 'ada' } });

      await operate(other.url, ['post', 'overrides/remove'], { policy: 'rider', identity: 'user:rider-7' }).expect(200);
      expect((await ride(other.url)).limit).toBe('20');
      await until('the first process to obey', 10_000, async () => (await ride(url)).limit === '20');
      await operate(url, ['post', 'overrides/find'], { policy: 'rider', identity: RIDER }).expect(404);
      expect(other.log).not.toContain(TOKEN);
    } finally {
      for (const { app } of services.splice(0)) await app.close();
      await redis.stop();
    }
  });

  it('describes all endpoints for OpenAPI, and lists the limited routes', async () => {
    const { app, url } = await open();
    const { paths } = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    const described = Object.entries(paths).flatMap(([path, operations]) =>
      path.startsWith('/api/admin/limits/')
        ? Object.keys(operations).map((method) => `${method} ${path.slice('/api/admin/limits/'.length)}`)
        : [],
    );
    expect(described.toSorted()).toEqual(ENDPOINTS.map((endpoint) => endpoint.join(' ')).toSorted());
    const { body } = await operate(url, ['get', 'table']).expect(200);
    const limited = body.routes.filter((route: { limited: boolean }) => route.limited);
    expect(limited.map(({ route }: { route: string }) => route)).toContain('POST /api/rides/request');
    expect(limited.filter(({ route }: { route: string }) => route.includes('/api/admin/limits'))).toEqual([]);
  });

  it('lets 20 of 60 parallel guesses through, and then not even the right token', async () => {
    const { url } = await open();
    const guesses = await Promise.all(
      Array.from({ length: 60 }, (_, i) => operate(url, ['get', 'table'], undefined, `wrong-token-number-${i}`)),
    );
    expect(guesses.filter(({ status }) => status === 401)).toHaveLength(20);
    expect(guesses.filter(({ status }) => status === 429)).toHaveLength(40);
    const right = await operate(url, ['get', 'table']).expect(429);
    expect(right.body).toMatchObject({ error: 'rate_limit_exceeded', policy: 'admin-tokens' });
    expect(Number(right.headers['retry-after'])).toBeGreaterThan(0);
  });
});
