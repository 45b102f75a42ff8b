import { afterEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { GARDEN, ITINERARY, RIDE, ZONE } from './support/requests.js';
import { type Service, start } from './support/start-app.js';

let service: Service;

afterEach(() => service.app.close());

type Send = (client: string) => request.Test;

const as = (client: string, test: request.Test): request.Test => test.set('X-User-Id', client);
const ride: Send = (client) => as(client, request(service.url).post('/api/rides/request').send(RIDE));
const estimate: Send = (client) => as(client, request(service.url).post('/api/fares/estimate').send(ITINERARY));
const nearby: Send = (client) => as(client, request(service.url).get('/api/drivers/nearby').query(GARDEN));
const history: Send = (client) => as(client, request(service.url).get('/api/trips/history'));
const surge: Send = (client) =>
  as(client, request(service.url).put(`/api/admin/zones/${ZONE}/surge`).send({ factor: 2 }));

const PER_CLIENT: { route: string; send: Send; limit: number; oneMs: number }[] = [
  { route: 'POST /api/rides/request', send: ride, limit: 20, oneMs: 100 },
  { route: 'GET /api/drivers/nearby', send: nearby, limit: 30, oneMs: 67 },
  { route: 'PUT /api/admin/zones/:zone/surge', send: surge, limit: 5, oneMs: 60_000 },
];

describe('limits', () => {
  it.each(PER_CLIENT)('$route admits $limit requests of a burst, for each client', async ({ send, limit, oneMs }) => {
    service = await start({ RATE_LIMIT: 'on' });
    const responses = await Promise.all(Array.from({ length: limit + 10 }, () => send('alice')));

    const passed = responses.filter(({ status }) => status === 200);
    const rejected = responses.filter(({ status }) => status === 429);
    expect([passed.length, rejected.length]).toEqual([limit, 10]);
    expect(passed[0]?.headers['x-ratelimit-limit']).toBe(String(limit));
    expect(rejected[0]?.body).toMatchObject({ statusCode: 429, error: 'rate_limit_exceeded' });
    expect(Number(rejected[0]?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    await send('bob').expect(200);
    service.limitsClock.advance(oneMs);
    await send('alice').expect(200);
  });

  describe('the limit of matching', () => {
    const asked = { ride, estimate, nearby };
    const NEVER = { RATE_LIMIT: 'on', MATCHING_LIMIT: '0.001' };

    it('is one limit for all routes that need matching', async () => {
      service = await start({ ...NEVER, MATCHING_BURST: '6' });
      for (const [name, send] of Object.entries(asked)) await send(name).expect(200);
      for (let i = 0; i < 3; i++) await ride(`rider-${i}`).expect(200);
      for (const [name, send] of Object.entries(asked)) {
        const { body } = await send(name).expect(429);
        expect(body.policy).toBe('matching');
      }
      await history('ride').expect(200);
    });

    it('rejects nothing with RATE_LIMIT=riders', async () => {
      service = await start({ ...NEVER, RATE_LIMIT: 'riders', MATCHING_BURST: '1' });
      const responses = await Promise.all(Array.from({ length: 80 }, async (_, i) => ride(`rider-${i % 4}`)));
      expect(responses.every(({ status }) => status === 200)).toBe(true);
      const { body } = await ride('rider-0').expect(429);
      expect(body.policy).toBe('rider');
    });
  });
});
