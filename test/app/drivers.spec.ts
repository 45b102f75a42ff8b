import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { GARDEN, RIDE } from './support/requests.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

let service: Service;

describe.each(PLATFORMS)('drivers over %s', (platform) => {
  beforeEach(async () => {
    service = await start(platform, { DRIVERS_SEEDED: '0', DRIVER_TIMEOUT_SECONDS: '60' });
  });
  afterEach(() => service.app.close());

  const report = (body: object): request.Test => request(service.url).post('/api/drivers/location').send(body);
  const nearby = async (query: object = {}): Promise<{ driver_id: string }[]> => {
    const response = await request(service.url)
      .get('/api/drivers/nearby')
      .query({ ...GARDEN, ...query })
      .expect(200);
    return response.body.drivers;
  };

  it('shows drivers who reported, the nearest first, with distance and ETA', async () => {
    const single = await report({ driver_id: 'd1', lat: 40.7515, lng: -73.9934 }).expect(200);
    expect(single.body).toEqual({ accepted: 1 });
    const batch = await report([
      { driver_id: 'd2', lat: 0, lng: 0 },
      { driver_id: 'd2', ...GARDEN },
      { driver_id: 'd3', lat: 40.775, lng: -73.9934 },
    ]).expect(200);
    expect(batch.body).toEqual({ accepted: 3 });

    expect(await nearby()).toEqual([
      { driver_id: 'd2', ...GARDEN, distance_m: 0, eta_seconds: 0 },
      { driver_id: 'd1', lat: 40.7515, lng: -73.9934, distance_m: 111, eta_seconds: 17 },
    ]);
    expect(await nearby({ radius_km: 0.1 })).toHaveLength(1);
    expect(await nearby({ radius_km: 20 })).toHaveLength(3);
  });

  it('shows neither drivers on a trip nor silent ones', async () => {
    await report([
      { driver_id: 'd1', ...GARDEN },
      { driver_id: 'd2', lat: 40.7515, lng: -73.9934 },
    ]);
    await request(service.url).post('/api/rides/request').send(RIDE).expect(200);
    expect(await nearby()).toEqual([expect.objectContaining({ driver_id: 'd2' })]);
    service.clock.ms += 60_000;
    expect(await nearby()).toEqual([]);
  });

  it('accepts 500 positions at once, with the longest numbers and names', async () => {
    const positions = Array.from({ length: 500 }, (_, i) => ({
      driver_id: `${i}`.padStart(64, 'd'),
      lat: -40.12345678901234 - i * 1e-9,
      lng: -173.9876543210988,
    }));
    const body = JSON.stringify(positions, undefined, 2);
    const response = await request(service.url)
      .post('/api/drivers/location')
      .set('Content-Type', 'application/json')
      .send(body)
      .expect(200);
    expect(response.body).toEqual({ accepted: 500 });
  });

  it('accepts a whole batch or nothing', async () => {
    const driver = { driver_id: 'd1', ...GARDEN };
    const wrong = [driver, driver, driver, { ...driver, lat: 91 }, { ...driver, speed: 3 }, null];
    const { body } = await report(wrong).expect(400);
    expect(body).toEqual({
      statusCode: 400,
      error: 'Bad Request',
      message: [
        '[3].lat must be a number from -90 to 90',
        'property [4].speed should not exist',
        '[5].driver_id must be 1 to 64 letters, digits or any of _ . : -',
        '[5].lat must be a number from -90 to 90',
        '[5].lng must be a number from -180 to 180',
      ],
    });
    expect(await nearby()).toEqual([]);
  });

  it.each([0, 501])('rejects a batch of %d', async (count) => {
    const positions = Array.from({ length: count }, () => ({ driver_id: 'd1', ...GARDEN }));
    const { body } = await report(positions).expect(400);
    expect(body.message).toEqual([`body must hold 1 to 500 positions, not ${count}`]);
  });

  it('limits the list of errors for a large wrong batch', async () => {
    const { body } = await report(Array.from({ length: 500 }, () => ({}))).expect(400);
    expect(body.message).toHaveLength(10);
  });
});
