import { afterEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { ELSEWHERE, GARDEN, ITINERARY, RIDE, ZONE } from './support/requests.js';
import { type Service, start } from './support/start-app.js';

let service: Service;

afterEach(() => service.app.close());

const ride = (body: object = RIDE): request.Test => request(service.url).post('/api/rides/request').send(body);
const report = (body: object): request.Test => request(service.url).post('/api/drivers/location').send(body);
const surge = (factor: number): request.Test =>
  request(service.url).put(`/api/admin/zones/${ZONE}/surge`).send({ factor });
const stats = async (): Promise<object[]> => (await request(service.url).get('/api/admin/zones/stats')).body.zones;
const nearby = async (query: object = {}): Promise<object[]> => {
  const asked = request(service.url).get('/api/drivers/nearby');
  return (await asked.query({ ...GARDEN, ...query }).expect(200)).body.drivers;
};
const historyOf = async (rider: string, query: object = {}): Promise<{ trip_id: string }[]> => {
  const asked = request(service.url).get('/api/trips/history').set('X-User-Id', rider);
  return (await asked.query(query).expect(200)).body.trips;
};

describe('a ride', () => {
  it('gets the nearest driver, an ETA and a fare, and is history after its end', async () => {
    service = await start({ TRIP_SECONDS: '30' });
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
    expect(await historyOf('rider-1')).toEqual([]);
    const next = (await ride().expect(200)).body;
    service.clock.ms += 30_000;
    const trips = await historyOf('rider-1');
    expect(trips.map(({ trip_id }) => trip_id)).toEqual([next.trip_id, body.trip_id]);
    expect(trips[1]).toEqual({
      trip_id: body.trip_id,
      driver_id: 'driver-0001',
      pickup: GARDEN,
      dropoff: { lat: 40.7484, lng: -73.9857 },
      distance_m: 689,
      fare: { amount_cents: 800, currency: 'USD' },
      started_at: '2024-01-01T00:00:00.000Z',
      ended_at: '2024-01-01T00:00:30.000Z',
    });
    expect(await historyOf('rider-1', { limit: 1 })).toHaveLength(1);
    expect(await historyOf('bob')).toEqual([]);
  });

  it('gives concurrent riders different drivers, as long as there are free ones', async () => {
    service = await start({ DRIVERS_SEEDED: '5', TRIP_SECONDS: '30' });
    const bodies = (await Promise.all(Array.from({ length: 8 }, () => ride().expect(200)))).map(({ body }) => body);
    expect(new Set(bodies.flatMap(({ driver }) => driver?.driver_id ?? [])).size).toBe(5);
    expect(bodies.filter(({ status }) => status === 'no_driver')).toHaveLength(3);
    service.clock.ms += 29_999;
    expect((await ride()).body.status).toBe('no_driver');
    service.clock.ms += 1;
    expect((await ride()).body.status).toBe('matched');
  });

  it('costs the exact surge factor of the pickup, like its estimate', async () => {
    service = await start();
    /** 11.12 km north: 300 + 11.119 x 175 cents, without a surge factor. */
    const uptown = { ...ITINERARY, dropoff_lat: GARDEN.lat + 0.1, dropoff_lng: GARDEN.lng };
    const estimate = (body: object): request.Test => request(service.url).post('/api/fares/estimate').send(body);
    expect((await estimate(uptown).expect(200)).body).toEqual({
      zone: ZONE,
      distance_m: 11_120,
      duration_seconds: 1668,
      surge_factor: 1,
      fare: { amount_cents: 2246, currency: 'USD' },
    });
    expect((await surge(1.15).expect(200)).body).toEqual({ zone: ZONE, surge_factor: 1.15 });
    expect((await estimate(uptown)).body).toMatchObject({ surge_factor: 1.15, fare: { amount_cents: 2583 } });
    expect((await estimate({ ...uptown, pickup_lat: 41 })).body).toMatchObject({ surge_factor: 1 });
    expect((await ride({ ...RIDE, ...uptown })).body.fare).toEqual({ amount_cents: 2583, currency: 'USD' });
  });
});

it('shows drivers who reported, the nearest first, but neither those on a trip nor silent ones', async () => {
  service = await start({ DRIVERS_SEEDED: '0', DRIVER_TIMEOUT_SECONDS: '60' });
  expect((await report({ driver_id: 'd1', lat: 40.7515, lng: -73.9934 }).expect(200)).body).toEqual({ accepted: 1 });
  const batch = [
    { driver_id: 'd2', lat: 0, lng: 0 },
    { driver_id: 'd2', ...GARDEN },
    { driver_id: 'd3', lat: 40.775, lng: -73.9934 },
  ];
  expect((await report(batch).expect(200)).body).toEqual({ accepted: 3 });
  const [d2, d1] = [
    { driver_id: 'd2', ...GARDEN, distance_m: 0, eta_seconds: 0 },
    { driver_id: 'd1', lat: 40.7515, lng: -73.9934, distance_m: 111, eta_seconds: 17 },
  ];
  expect(await nearby()).toEqual([d2, d1]);
  expect(await nearby({ radius_km: 20 })).toHaveLength(3);
  // A whole batch or nothing.
  await report([{ driver_id: 'd4', ...GARDEN }, null]).expect(400);
  await ride().expect(200);
  expect(await nearby()).toEqual([d1]);
  service.clock.ms += 60_000;
  expect(await nearby()).toEqual([]);
});

it('counts the requests of a zone by outcome', async () => {
  service = await start({ DRIVERS_SEEDED: '0' });
  await report({ driver_id: 'd1', ...GARDEN }).expect(200);
  await request(service.url).post('/api/fares/estimate').send(ITINERARY).expect(200);
  for (const body of [RIDE, RIDE, ELSEWHERE]) await ride(body).expect(200);
  await surge(2.5).expect(200);
  const idle = {
    estimates: 0,
    requests: 1,
    matched: 0,
    no_driver: 1,
    unavailable: 0,
    drivers_free: 0,
    drivers_busy: 0,
  };
  expect(await stats()).toEqual([
    { ...idle, zone: ZONE, estimates: 1, requests: 2, matched: 1, drivers_busy: 1, surge_factor: 2.5 },
    { ...idle, zone: '871fb4662ffffff', surge_factor: 1 },
  ]);
});

it('redirects to the folder of the playground', async () => {
  service = await start();
  const answer = await request(service.url).get('/playground?a=/');
  expect([answer.status, answer.headers['location']]).toEqual([302, 'playground/']);
  expect((await request(service.url).post('/playground/')).status).toBe(404);
});
