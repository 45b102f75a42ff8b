import { afterEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { GARDEN, ITINERARY, RIDE, ZONE } from './support/requests.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

let service: Service;

afterEach(() => service.app.close());

type Send = (client: string) => request.Test;

const as = (client: string, test: request.Test): request.Test => test.set('X-User-Id', client);
const ride: Send = (client) => as(client, request(service.url).post('/api/rides/request').send(RIDE));
const estimate: Send = (client) => as(client, request(service.url).post('/api/fares/estimate').send(ITINERARY));
const nearby: Send = (client) => as(client, request(service.url).get('/api/drivers/nearby').query(GARDEN));
const history: Send = (client) => as(client, request(service.url).get('/api/trips/history'));
const stats: Send = (client) => as(client, request(service.url).get('/api/admin/zones/stats'));
const surge: Send = (client) =>
  as(client, request(service.url).put(`/api/admin/zones/${ZONE}/surge`).send({ factor: 2 }));
const health: Send = (client) => as(client, request(service.url).get('/healthz'));

const PER_CLIENT: { route: string; send: Send; limit: number; perSecond: number }[] = [
  { route: 'POST /api/rides/request', send: ride, limit: 20, perSecond: 10 },
  { route: 'POST /api/fares/estimate', send: estimate, limit: 20, perSecond: 10 },
  { route: 'GET /api/drivers/nearby', send: nearby, limit: 30, perSecond: 15 },
  { route: 'GET /api/trips/history', send: history, limit: 30, perSecond: 0 },
  { route: 'GET /api/admin/zones/stats', send: stats, limit: 60, perSecond: 0 },
  { route: 'PUT /api/admin/zones/:zone/surge', send: surge, limit: 5, perSecond: 0 },
];

/** Windows begin with the clock's minutes. A burst across two windows may be larger. */
async function clearOfTheMinutesEnd(): Promise<void> {
  const leftMs = 60_000 - (Date.now() % 60_000);
  if (leftMs < 3000) await new Promise((resolve) => setTimeout(resolve, leftMs));
}

describe.each(PLATFORMS)('limits over %s', (platform) => {
  it.each(PER_CLIENT)(
    '$route admits $limit requests of a burst, for each client',
    async ({ send, limit, perSecond }) => {
      service = await start(platform, { RATE_LIMIT: 'on' });
      await clearOfTheMinutesEnd();
      const since = performance.now();
      const responses = await Promise.all(Array.from({ length: 2 * limit }, () => send('alice')));
      const refilled = Math.ceil(((performance.now() - since) / 1000) * perSecond);

      const passed = responses.filter(({ status }) => status === 200);
      const rejected = responses.filter(({ status }) => status === 429);
      expect(passed.length + rejected.length).toBe(2 * limit);
      expect(passed.length).toBeGreaterThanOrEqual(limit);
      expect(passed.length).toBeLessThanOrEqual(limit + refilled);
      expect(passed[0]?.headers['x-ratelimit-limit']).toBe(String(limit));
      expect(rejected[0]?.body).toMatchObject({ statusCode: 429, error: 'rate_limit_exceeded' });
      expect(Number(rejected[0]?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      await send('bob').expect(200);
    },
  );

  it('queues the positions of all clients together, and rejects what the queue has no place for', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const positions = Array.from({ length: 500 }, (_, i) => ({ driver_id: `d${i}`, ...GARDEN }));
    const report = (client: number): request.Test =>
      as(`phone-${client}`, request(service.url).post('/api/drivers/location').send(positions));

    const since = performance.now();
    const responses = await Promise.all(Array.from({ length: 16 }, (_, client) => report(client)));
    const seconds = (performance.now() - since) / 1000;
    const passed = responses.filter(({ status }) => status === 200).length;
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(16 - passed);
    expect(passed).toBeGreaterThanOrEqual(10);
    expect(500 * passed).toBeLessThanOrEqual(5000 + 500 + 3000 * seconds);
    expect(seconds).toBeGreaterThan(1.4);
  });

  it('leaves half of that queue to others, whatever one anonymous client sends', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    const positions = Array.from({ length: 500 }, (_, i) => ({ driver_id: `d${i}`, ...GARDEN }));
    const report = (): request.Test => request(service.url).post('/api/drivers/location').send(positions);

    const since = performance.now();
    const sent = Array.from({ length: 16 }, async () => report());
    const answered = await Promise.all(sent);
    const seconds = (performance.now() - since) / 1000;
    const rejected = answered.filter(({ status }) => status === 429);
    expect(rejected.every(({ body }) => body.policy === 'reporter')).toBe(true);
    expect(500 * (16 - rejected.length)).toBeGreaterThanOrEqual(2500);
    expect(500 * (16 - rejected.length)).toBeLessThanOrEqual(2500 + 1500 * seconds);
    await as('phone', report()).expect(200);
  });

  it.each([[[]], [null], ['text'], [{}], [Array.from({ length: 501 }, () => ({}))]])(
    'rejects an invalid location body as invalid, not for its cost (%#)',
    async (body) => {
      service = await start(platform, { RATE_LIMIT: 'on' });
      const text = JSON.stringify(body);
      const response = await request(service.url)
        .post('/api/drivers/location')
        .set('Content-Type', 'application/json')
        .send(text);
      expect(response.status).toBe(400);
    },
  );

  it('never limits the health check', async () => {
    service = await start(platform, { RATE_LIMIT: 'on' });
    for (const response of await Promise.all(Array.from({ length: 100 }, () => health('probe')))) {
      expect(response.status).toBe(200);
      expect(response.headers).not.toHaveProperty('x-ratelimit-limit');
    }
  });

  describe('the limit of matching', () => {
    const asked = { ride, estimate, nearby };
    const NEVER = { RATE_LIMIT: 'on', MATCHING_LIMIT: '0.001' };

    it('counts all riders together, however few requests each of them sends', async () => {
      service = await start(platform, { RATE_LIMIT: 'on' });
      const since = performance.now();
      const responses = await Promise.all(Array.from({ length: 200 }, async (_, i) => ride(`rider-${i % 40}`)));
      const seconds = (performance.now() - since) / 1000;
      const passed = responses.filter(({ status }) => status === 200).length;
      expect(passed).toBeGreaterThanOrEqual(60);
      expect(passed).toBeLessThanOrEqual(60 + 100 * seconds);
      const rejected = responses.filter(({ status }) => status === 429);
      expect(rejected).toHaveLength(200 - passed);
      expect(rejected.every(({ body }) => body.policy === 'matching')).toBe(true);
    });

    it('is one limit for all routes that need matching', async () => {
      service = await start(platform, { ...NEVER, MATCHING_BURST: '6' });
      for (const [name, send] of Object.entries(asked)) await send(name).expect(200);
      for (let i = 0; i < 3; i++) await ride(`rider-${i}`).expect(200);
      for (const [name, send] of Object.entries(asked)) {
        const { body } = await send(name).expect(429);
        expect(body.policy).toBe('matching');
      }
      await history('ride').expect(200);
    });

    it('keeps a half of its burst for rides: estimates give way first', async () => {
      service = await start(platform, { ...NEVER, MATCHING_BURST: '10' });
      for (let i = 0; i < 5; i++) await estimate(`rider-${i}`).expect(200);
      const refused = await estimate('rider-5').expect(429);
      expect(refused.body.policy).toBe('matching');
      for (let i = 0; i < 5; i++) await ride(`rider-${i}`).expect(200);
      await ride('rider-5').expect(429);
    });

    it('charges riders nothing of their own limit when it rejects', async () => {
      service = await start(platform, { ...NEVER, MATCHING_BURST: '1' });
      await ride('alice').expect(200);
      // If each rejection were charged, the rider's own limit would reject from the 21st request on.
      for (let i = 0; i < 25; i++) expect((await ride('bob').expect(429)).body.policy).toBe('matching');
    });

    it('is not used up by one client who sends more than all others together', async () => {
      service = await start(platform, { ...NEVER, MATCHING_BURST: '60' });
      const asking = Array.from({ length: 300 }, (_, i) => (i % 6 === 0 ? `rider-${i}` : 'script'));
      const since = performance.now();
      const statuses = await Promise.all(asking.map(async (client) => (await ride(client)).status));
      const seconds = (performance.now() - since) / 1000;
      const passed = asking.filter((_, i) => statuses[i] === 200);
      expect(passed).toHaveLength(60);
      expect(passed.filter((client) => client === 'script').length).toBeLessThanOrEqual(20 + 10 * seconds);
    });

    it('rejects nothing with RATE_LIMIT=riders', async () => {
      service = await start(platform, { ...NEVER, RATE_LIMIT: 'riders', MATCHING_BURST: '1' });
      const responses = await Promise.all(Array.from({ length: 80 }, async (_, i) => ride(`rider-${i % 4}`)));
      expect(responses.every(({ status }) => status === 200)).toBe(true);
      const { body } = (await Promise.all(Array.from({ length: 30 }, async () => ride('rider-0')))).find(
        ({ status }) => status === 429,
      )!;
      expect(body.policy).toBe('rider');
    });
  });

  it('divides the limits among the processes while Redis is unavailable', async () => {
    service = await start(platform, { RATE_LIMIT: 'on', REDIS_URL: 'redis://127.0.0.1:1', PODS: '4' });
    const responses = await Promise.all(Array.from({ length: 20 }, async () => surge('alice')));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(responses.filter(({ status }) => status === 429)).toHaveLength(19);
  });

  it('limits nothing and needs no Redis with RATE_LIMIT=off', async () => {
    service = await start(platform, { RATE_LIMIT: 'off', REDIS_URL: 'redis://127.0.0.1:1' });
    for (const { status } of await Promise.all(Array.from({ length: 50 }, () => ride('alice')))) {
      expect(status).toBe(200);
    }
  });
});
