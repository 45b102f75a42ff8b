import { afterEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { ELSEWHERE, RIDE, ZONE } from './support/requests.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

let service: Service;

afterEach(() => service.app.close());

const ride = (body: object = RIDE): request.Test => request(service.url).post('/api/rides/request').send(body);
const unavailable = (reason: string): object => ({
  statusCode: 503,
  error: 'Service Unavailable',
  message: `matching is unavailable: ${reason}`,
});

describe.each(PLATFORMS)('rides over %s', (platform) => {
  it('answers a first request with the nearest driver, an ETA and a fare', async () => {
    service = await start(platform);
    const { body } = await ride().expect(200);
    expect(body).toEqual({
      status: 'matched',
      trip_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      driver: { driver_id: 'driver-0001', lat: expect.closeTo(40.7505, 2), lng: expect.closeTo(-73.9934, 2) },
      eta_seconds: expect.any(Number),
      distance_m: 689,
      fare: { amount_cents: 800, currency: 'USD' },
    });
    expect(body.eta_seconds).toBeGreaterThan(0);
  });

  it('answers no_driver when no driver is within reach', async () => {
    service = await start(platform);
    const { body } = await ride(ELSEWHERE).expect(200);
    expect(body).toEqual({ status: 'no_driver' });
  });

  it('gives concurrent riders different drivers, as long as there are free ones', async () => {
    service = await start(platform, { DRIVERS_SEEDED: '5', TRIP_SECONDS: '30' });
    const bodies = (await Promise.all(Array.from({ length: 8 }, () => ride().expect(200)))).map(({ body }) => body);
    const drivers = bodies.flatMap(({ driver }) => driver?.driver_id ?? []);
    expect(new Set(drivers).size).toBe(5);
    expect(bodies.filter(({ status }) => status === 'no_driver')).toHaveLength(3);

    service.clock.ms += 29_999;
    expect((await ride()).body.status).toBe('no_driver');
    service.clock.ms += 1;
    expect((await ride()).body.status).toBe('matched');
  });

  it('answers 503 when the queue is full and after too long a wait', async () => {
    service = await start(platform, {
      MATCHING_WORKERS: '1',
      MATCHING_SERVICE_MS: '400',
      MATCHING_QUEUE: '2',
      MATCHING_PATIENCE_MS: '100',
    });
    const responses = await Promise.all(Array.from({ length: 4 }, () => ride()));
    const bodies = responses.map(({ body }) => body);
    expect(bodies.filter(({ status }) => status === 'matched')).toHaveLength(1);
    expect(bodies.filter(({ statusCode }) => statusCode === 503)).toHaveLength(3);
    expect(bodies).toContainEqual(unavailable('queue full'));
    expect(bodies).toContainEqual(unavailable('waited too long'));

    const { body } = await request(service.url).get('/api/admin/zones/stats').expect(200);
    expect(body.zones[0]).toMatchObject({ zone: ZONE, requests: 4, matched: 1, no_driver: 0, unavailable: 3 });
  });

  it('answers 503 to waiting requests when it shuts down, and finishes running ones', async () => {
    service = await start(platform, { MATCHING_WORKERS: '1', MATCHING_SERVICE_MS: '300' });
    const first = ride().then((response) => response);
    await new Promise((resolve) => setTimeout(resolve, 100));
    const second = ride().then((response) => response);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await service.app.close();
    expect((await first).body.status).toBe('matched');
    const rejected = await second;
    expect(rejected.status).toBe(503);
    expect(rejected.body).toEqual(unavailable('shutting down'));
  });
});
