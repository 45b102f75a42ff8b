import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { ELSEWHERE, GARDEN, ITINERARY, RIDE, ZONE } from './support/requests.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

let service: Service;

describe.each(PLATFORMS)('zones over %s', (platform) => {
  beforeEach(async () => {
    service = await start(platform, { DRIVERS_SEEDED: '0' });
  });
  afterEach(() => service.app.close());

  const surge = (zone: string, body: object): request.Test =>
    request(service.url).put(`/api/admin/zones/${zone}/surge`).send(body);

  it('counts requests by outcome', async () => {
    const server = request(service.url);
    await server
      .post('/api/drivers/location')
      .send({ driver_id: 'd1', ...GARDEN })
      .expect(200);
    await server.post('/api/fares/estimate').send(ITINERARY).expect(200);
    await server.post('/api/rides/request').send(RIDE).expect(200);
    await server.post('/api/rides/request').send(RIDE).expect(200);
    await server.post('/api/rides/request').send(ELSEWHERE).expect(200);
    await surge(ZONE, { factor: 2.5 }).expect(200);

    const { body } = await server.get('/api/admin/zones/stats').expect(200);
    const events = { estimates: 0, requests: 1, matched: 0, no_driver: 1, unavailable: 0 };
    const drivers = { drivers_free: 0, drivers_busy: 0 };
    expect(body).toEqual({
      zones: [
        {
          zone: ZONE,
          estimates: 1,
          requests: 2,
          matched: 1,
          no_driver: 1,
          unavailable: 0,
          drivers_free: 0,
          drivers_busy: 1,
          surge_factor: 2.5,
        },
        { zone: '871fb4662ffffff', ...events, ...drivers, surge_factor: 1 },
      ],
    });
    expect((await server.get('/api/admin/zones/stats?limit=1')).body.zones).toHaveLength(1);
  });

  it('sets a surge factor and resets it', async () => {
    expect((await surge(ZONE, { factor: 5 }).expect(200)).body).toEqual({ zone: ZONE, surge_factor: 5 });
    expect((await surge(ZONE, { factor: 1.0 }).expect(200)).body).toEqual({ zone: ZONE, surge_factor: 1 });
  });

  it.each(['872A100D2FFFFFF', '882a100d29fffff', 'manhattan', '__proto__'])('rejects the zone %s', async (zone) => {
    const { body } = await surge(zone, { factor: 2 }).expect(400);
    expect(body.message).toEqual(['zone must be an H3 cell of resolution 7 in lower case, such as 872a100d2ffffff']);
  });
});
