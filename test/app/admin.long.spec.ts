import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import request from 'supertest';
import { until } from '../support/faults/until.js';
import { RedisServer } from '../support/redis-server.js';
import { RIDE } from './support/requests.js';
import { ServiceProcess } from './support/service-process.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

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

async function rides(url: string, count: number): Promise<Record<number, number>> {
  const answers = await Promise.all(Array.from({ length: count }, () => ride(url)));
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

describe.each(PLATFORMS)('/api/admin/limits over %s', (platform) => {
  async function open(variables: Record<string, string> = ON): Promise<Service> {
    const service = await start(platform, variables);
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
      await until('the other process to obey', 1000, async () => (await ride(other.url)).limit === '5');
      const counts = await rides(other.url, 12);
      expect(counts[429]).toBeGreaterThan(0);
      expect(counts[200] ?? 0).toBeLessThanOrEqual(5);

      const explained = await operate(other.url, ['post', 'explain'], {
        identity: RIDER,
        route: 'POST /api/rides/request',
      }).expect(200);
      expect(explained.body).toMatchObject({
        identity: 'user:rider-7',
        route: { handler: 'RidesController.request', guarded: true },
      });
      const rider = explained.body.policies.find(({ policy }: { policy: string }) => policy === 'rider');
      expect(rider).toMatchObject({
        numbers: RAISED.change,
        level: { limit: 5 },
        decidedBy: 'store',
        override: {
          version: set.body.version,
          change: RAISED.change,
          reason: 'ticket 7',
          author: 'ada',
          isComplete: true,
        },
      });
      expect(Date.parse(rider.override.expiresAt)).toBe(set.body.expiresAtMs);

      await operate(other.url, ['post', 'overrides/remove'], { policy: 'rider', identity: 'user:rider-7' }).expect(200);
      expect((await ride(other.url)).limit).toBe('20');
      await until('the first process to obey', 1000, async () => (await ride(url)).limit === '20');
      await operate(url, ['post', 'overrides/find'], { policy: 'rider', identity: RIDER }).expect(404);
      expect(other.log).not.toContain(TOKEN);
    } finally {
      for (const { app } of services.splice(0)) await app.close();
      await redis.stop();
    }
  });

  it('blocks a rider and lets them in again', async () => {
    const { url } = await open();
    const target = { policy: 'rider', identity: RIDER };
    await operate(url, ['put', 'overrides'], { ...target, change: { blocked: true }, expiresIn: '1h' }).expect(200);
    expect(await rides(url, 3)).toEqual({ 429: 3 });
    const { body } = await operate(url, ['post', 'explain'], { identity: RIDER, route: 'POST /api/rides/request' });
    expect(body).toMatchObject({ isRejected: true, policies: [{ outcome: 'blocked', decidedBy: 'override' }, {}] });
    await operate(url, ['put', 'overrides'], { ...target, change: { exempt: true } }).expect(200);
    expect(await rides(url, 30)).toEqual({ 200: 30 });
    await operate(url, ['put', 'overrides'], { ...target, change: { capacity: 0 } }).expect(400);
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

  it('rejects every endpoint without ADMIN_TOKEN, whatever the token, and says how to enable it', async () => {
    const { ADMIN_TOKEN: _, ...without } = ON;
    const { url } = await open(without);
    const disabled = {
      statusCode: 403,
      error: 'admin_disabled',
      message: expect.stringContaining('start the process with ADMIN_TOKEN'),
    };
    for (const endpoint of ENDPOINTS) {
      for (const token of [TOKEN, '', 'undefined']) {
        const { status, body } = await operate(url, endpoint, {}, token);
        expect({ endpoint, token, status, body }).toEqual({ endpoint, token, status: 403, body: disabled });
      }
    }
  });

  it.each(ENDPOINTS)('rejects %s %s without the right token', async (...endpoint) => {
    const { url } = await open();
    for (const token of ['', TOKEN.slice(1), `${TOKEN}0`, TOKEN.toUpperCase()]) {
      const { body, headers } = await operate(url, endpoint, RAISED, token).expect(401);
      expect(body).toMatchObject({ statusCode: 401, error: 'unauthorized' });
      expect(headers['www-authenticate']).toBe('Bearer realm="limits"');
    }
    const basic = await request(url).get('/api/admin/limits/table').set('Authorization', `Basic ${TOKEN}`);
    expect(basic.status).toBe(401);
    expect((await ride(url)).limit).toBe('20');
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

  it('limits wrong tokens also while limits are not enforced', async () => {
    const { url } = await open({ ...ON, RATE_LIMIT: 'off' });
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++) statuses.push((await operate(url, ['get', 'table'], undefined, 'x')).status);
    expect(statuses).toEqual([...Array<number>(20).fill(401), ...Array<number>(5).fill(429)]);
  });

  it('never limits the right token, and counts no wrong ones for it', async () => {
    const { url } = await open();
    const statuses = async (count: number, token: string): Promise<number[]> => {
      const all: number[] = [];
      for (let i = 0; i < count; i++) all.push((await operate(url, ['get', 'table'], undefined, token)).status);
      return [...new Set(all)];
    };
    expect(await statuses(15, 'wrong')).toEqual([401]);
    expect(await statuses(100, TOKEN)).toEqual([200]);
    expect(await statuses(5, 'wrong')).toEqual([401]);
    expect(await statuses(5, 'wrong')).toEqual([429]);
  });
});
