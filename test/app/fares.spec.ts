import { afterEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { GARDEN, ITINERARY, RIDE, ZONE } from './support/requests.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

let service: Service;

afterEach(() => service.app.close());

/** 11.12 km north: 300 + 11.119 x 175 cents, without a surge factor. */
const UPTOWN = { ...ITINERARY, dropoff_lat: GARDEN.lat + 0.1, dropoff_lng: GARDEN.lng };

describe.each(PLATFORMS)('fares over %s', (platform) => {
  const estimate = async (body: object): Promise<object> =>
    (await request(service.url).post('/api/fares/estimate').send(body).expect(200)).body;

  it('estimates distance, time and fare', async () => {
    service = await start(platform);
    expect(await estimate(UPTOWN)).toEqual({
      zone: ZONE,
      distance_m: 11_120,
      duration_seconds: 1668,
      surge_factor: 1,
      fare: { amount_cents: 2246, currency: 'USD' },
    });
  });

  it('multiplies rides and estimates by the exact surge factor of the pickup', async () => {
    service = await start(platform);
    await request(service.url).put(`/api/admin/zones/${ZONE}/surge`).send({ factor: 1.15 }).expect(200);
    expect(await estimate(UPTOWN)).toMatchObject({ surge_factor: 1.15, fare: { amount_cents: 2583 } });
    expect(await estimate({ ...UPTOWN, pickup_lat: 41 })).toMatchObject({ surge_factor: 1 });

    const ride = await request(service.url)
      .post('/api/rides/request')
      .send({ ...RIDE, ...UPTOWN })
      .expect(200);
    expect(ride.body.fare).toEqual({ amount_cents: 2583, currency: 'USD' });
  });
});
