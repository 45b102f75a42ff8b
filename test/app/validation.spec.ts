import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { ITINERARY, RIDE, ZONE } from './support/requests.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

const LAT = 'must be a number from -90 to 90';
const LNG = 'must be a number from -180 to 180';
const ID = 'must be 1 to 64 letters, digits or any of _ . : -';
const FLAT = 'must be an object with driver_id, lat and lng, without nested values';
const COUNT = 'must be an integer number';

const RIDES = 'POST /api/rides/request';
const FARES = 'POST /api/fares/estimate';
const LOCATION = 'POST /api/drivers/location';
const SURGE = `PUT /api/admin/zones/${ZONE}/surge`;

const BODIES: [route: string, body: unknown, message: string][] = [
  [RIDES, { ...RIDE, pickup_lat: 90.0001 }, `pickup_lat ${LAT}`],
  [RIDES, { ...RIDE, pickup_lat: '40.75' }, `pickup_lat ${LAT}`],
  [RIDES, { ...RIDE, pickup_lng: -181 }, `pickup_lng ${LNG}`],
  [RIDES, { ...RIDE, dropoff_lat: null }, `dropoff_lat ${LAT}`],
  [RIDES, { ...RIDE, dropoff_lng: [1] }, `dropoff_lng ${LNG}`],
  [RIDES, { ...RIDE, rider_id: '' }, `rider_id ${ID}`],
  [RIDES, { ...RIDE, rider_id: 'r'.repeat(65) }, `rider_id ${ID}`],
  [RIDES, { ...RIDE, rider_id: 'a b' }, `rider_id ${ID}`],
  [RIDES, { ...RIDE, rider_id: 7 }, `rider_id ${ID}`],
  [RIDES, { ...RIDE, tip: 1 }, 'property tip should not exist'],
  [RIDES, ITINERARY, `rider_id ${ID}`],
  [RIDES, {}, `pickup_lat ${LAT}`],
  [RIDES, [RIDE], `rider_id ${ID}`],
  [FARES, RIDE, 'property rider_id should not exist'],
  [FARES, { ...ITINERARY, dropoff_lat: -90.5 }, `dropoff_lat ${LAT}`],
  [LOCATION, { driver_id: 'd1', lat: 0 }, `lng ${LNG}`],
  [LOCATION, { driver_id: '../d1', lat: 0, lng: 0 }, `driver_id ${ID}`],
  [LOCATION, [{ driver_id: 'd1', lat: 0, lng: 0 }, {}], `[1].driver_id ${ID}`],
  [LOCATION, { driver_id: 'd1', lat: [0], lng: 0 }, `body ${FLAT}`],
  [LOCATION, [{ driver_id: 'd1', lat: 0, lng: 0 }, []], `[1] ${FLAT}`],
  [
    LOCATION,
    [
      { driver_id: 'd1', lat: 0, lng: null },
      { driver_id: {}, lat: 0, lng: 0 },
    ],
    `[1] ${FLAT}`,
  ],
  [LOCATION, [{ driver_id: 'd1', lat: 0, lng: null }, []], `[0].lng ${LNG}`],
  [SURGE, { factor: 0.99 }, 'factor must be a number from 1 to 5'],
  [SURGE, { factor: 5.01 }, 'factor must be a number from 1 to 5'],
  [SURGE, { factor: '2' }, 'factor must be a number from 1 to 5'],
  [SURGE, { factor: 1.005 }, 'factor must have at most 2 decimal places'],
  [SURGE, {}, 'factor must be a number from 1 to 5'],
];

/** Unknown fields or elements: as many as a body can hold. */
const MANY = Object.fromEntries(Array.from({ length: 8000 }, (_, i) => [`f${i}`, 1]));
const LARGE: typeof BODIES = [
  [RIDES, MANY, 'body must hold at most 64 values'],
  [RIDES, Array.from({ length: 30_000 }, () => ({})), 'body must hold at most 64 values'],
  [RIDES, { ...RIDE, rider_id: Array.from({ length: 40_000 }, () => 0) }, 'body must hold at most 64 values'],
  [SURGE, MANY, 'body must hold at most 64 values'],
  [LOCATION, MANY, `body ${FLAT}`],
  [LOCATION, [MANY], `[0] ${FLAT}`],
];

const QUERIES: [query: string, message: string][] = [
  ['drivers/nearby', `lat ${LAT}`],
  ['drivers/nearby?lat=&lng=', `lat ${LAT}`],
  ['drivers/nearby?lat=0x10&lng=0', `lat ${LAT}`],
  ['drivers/nearby?lat=1&lat=2&lng=0', `lat ${LAT}`],
  ['drivers/nearby?lat=0&lng=180.1', `lng ${LNG}`],
  ['drivers/nearby?lat=0&lng=0&radius_km=0', 'radius_km must be a number from 0.1 to 20'],
  ['drivers/nearby?lat=0&lng=0&radius_km=20.5', 'radius_km must be a number from 0.1 to 20'],
  ['drivers/nearby?lat=0&lng=0&zoom=3', 'property zoom should not exist'],
  ['trips/history?rider_id=', `rider_id ${ID}`],
  ['trips/history?rider_id=a&rider_id=b', `rider_id ${ID}`],
  ['trips/history?rider_id=a&limit=1.5', `limit ${COUNT}`],
  ['trips/history?rider_id=a&limit=0', 'limit must not be less than 1'],
  ['trips/history?rider_id=a&limit=101', 'limit must not be greater than 100'],
  ['admin/zones/stats?limit=many', `limit ${COUNT}`],
];

describe.each(PLATFORMS)('validation over %s', (platform) => {
  let service: Service;

  beforeAll(async () => {
    service = await start(platform);
  });
  afterAll(() => service.app.close());

  const send = (route: string): request.Test => {
    const [method, path] = route.split(' ') as ['POST' | 'PUT', string];
    return method === 'POST' ? request(service.url).post(path) : request(service.url).put(path);
  };

  it.each(BODIES)('%s %j: %s', async (route, body, message) => {
    const response = await send(route)
      .send(body as object)
      .expect(400);
    expect(response.body).toMatchObject({ statusCode: 400, error: 'Bad Request' });
    expect(response.body.message).toContain(message);
  });

  it.each(LARGE.map(([route, body, message]) => ({ route, body, message })))(
    '$route: $message, and no line for each',
    async ({ route, body, message }) => {
      const response = await send(route)
        .send(body as object)
        .expect(400);
      expect(response.body.message).toEqual([message]);
    },
  );

  it.each(QUERIES)('GET %s: %s', async (query, message) => {
    const response = await request(service.url).get(`/api/${query}`).expect(400);
    expect(response.body).toMatchObject({ statusCode: 400, error: 'Bad Request' });
    expect(response.body.message).toContain(message);
  });

  it.each([RIDES, FARES, LOCATION, SURGE])('%s rejects a missing body, half a body, and null', async (route) => {
    await send(route).expect(400);
    for (const text of ['{"pickup_lat":', 'null', '7', '"text"']) {
      const response = await send(route).set('Content-Type', 'application/json').send(text).expect(400);
      expect(response.body).toMatchObject({ statusCode: 400, message: expect.anything() });
    }
  });

  it.each([
    ['an array', '['.repeat(40_000) + ']'.repeat(40_000), '[0] must be an object'],
    [
      'an element',
      `[{"driver_id":"d1","lat":0,"lng":0},${'['.repeat(40_000)}${']'.repeat(40_000)}]`,
      '[1] must be an object',
    ],
    [
      'a field',
      `[{"driver_id":"d1","lat":${'['.repeat(40_000)}${']'.repeat(40_000)},"lng":0}]`,
      '[0] must be an object',
    ],
    [
      'a field of one',
      `{"driver_id":"d1","lat":${'{"a":'.repeat(15_000)}1${'}'.repeat(15_000)},"lng":0}`,
      'body must be an object',
    ],
  ])(`${LOCATION} rejects %s that is nested deeply`, async (_, text, message) => {
    const response = await send(LOCATION).set('Content-Type', 'application/json').send(text).expect(400);
    expect(response.body).toMatchObject({ statusCode: 400, error: 'Bad Request' });
    expect(response.body.message).toEqual([expect.stringContaining(message)]);
  });

  it.each([RIDES, FARES, SURGE])('%s rejects a body that is nested deeply', async (route) => {
    const text = `{"rider_id":${'['.repeat(40_000)}${']'.repeat(40_000)}}`;
    const response = await send(route).set('Content-Type', 'application/json').send(text).expect(400);
    expect(response.body).toEqual({ statusCode: 400, error: 'Bad Request', message: ['body is nested too deeply'] });
  });

  it('answers 404 for other methods of a route', async () => {
    expect((await request(service.url).get('/healthz').expect(200)).body).toMatchObject({ status: 'ok' });
    await request(service.url).get('/api/rides/request').expect(404);
  });
});
