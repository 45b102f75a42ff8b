import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { ITINERARY, RIDE, ZONE } from './support/requests.js';
import { type Service, start } from './support/start-app.js';

const LAT = 'must be a number from -90 to 90';
const LNG = 'must be a number from -180 to 180';
const ID = 'must be 1 to 64 letters, digits or any of _ . : -';
const FLAT = 'must be an object with driver_id, lat and lng, without nested values';

const RIDES = 'POST /api/rides/request';
const FARES = 'POST /api/fares/estimate';
const LOCATION = 'POST /api/drivers/location';
const SURGE = `PUT /api/admin/zones/${ZONE}/surge`;

const BODIES: [route: string, body: unknown, message: string][] = [
  [RIDES, { ...RIDE, pickup_lat: '40.75' }, `pickup_lat ${LAT}`],
  [RIDES, { ...RIDE, dropoff_lng: [1] }, `dropoff_lng ${LNG}`],
  [RIDES, { ...RIDE, rider_id: 'r'.repeat(65) }, `rider_id ${ID}`],
  [RIDES, { ...RIDE, tip: 1 }, 'property tip should not exist'],
  [RIDES, [RIDE], `rider_id ${ID}`],
  [FARES, { ...ITINERARY, dropoff_lat: -90.5 }, `dropoff_lat ${LAT}`],
  [LOCATION, [{ driver_id: 'd1', lat: 0, lng: 0 }, {}], `[1].driver_id ${ID}`],
  [LOCATION, { driver_id: 'd1', lat: [0], lng: 0 }, `body ${FLAT}`],
  [LOCATION, [], 'body must hold 1 to 500 positions, not 0'],
  [SURGE, { factor: 5.01 }, 'factor must be a number from 1 to 5'],
  [SURGE, { factor: 1.005 }, 'factor must have at most 2 decimal places'],
  ['PUT /api/admin/zones/__proto__/surge', { factor: 2 }, 'zone must be an H3 cell of resolution 7 in lower case'],
];

const QUERIES: [query: string, message: string][] = [
  ['drivers/nearby?lat=0x10&lng=0', `lat ${LAT}`],
  ['drivers/nearby?lat=1&lat=2&lng=0', `lat ${LAT}`],
  ['drivers/nearby?lat=0&lng=0&radius_km=20.5', 'radius_km must be a number from 0.1 to 20'],
  ['drivers/nearby?lat=0&lng=0&zoom=3', 'property zoom should not exist'],
  ['trips/history?rider_id=a&rider_id=b', `rider_id ${ID}`],
  ['trips/history?rider_id=a&limit=101', 'limit must not be greater than 100'],
  ['trips/history', 'rider_id or the header X-User-Id must name the rider'],
];

const DEEP = '['.repeat(40_000) + ']'.repeat(40_000);

describe('validation', () => {
  let service: Service;

  beforeAll(async () => {
    service = await start();
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
    expect(response.body.message).toContainEqual(expect.stringContaining(message));
  });

  it.each(QUERIES)('GET %s: %s', async (query, message) => {
    const response = await request(service.url).get(`/api/${query}`).expect(400);
    expect(response.body.message).toContainEqual(expect.stringContaining(message));
  });

  it.each([
    [RIDES, '{"pickup_lat":'],
    [RIDES, 'null'],
    [LOCATION, '7'],
    [LOCATION, DEEP],
    [LOCATION, `[{"driver_id":"d1","lat":${DEEP},"lng":0}]`],
    [RIDES, `{"rider_id":${DEEP}}`],
  ])('%s rejects half a body, no object and a body that is nested deeply: %#', async (route, text) => {
    const response = await send(route).set('Content-Type', 'application/json').send(text).expect(400);
    expect(response.body).toMatchObject({ statusCode: 400, message: expect.anything() });
  });
});
