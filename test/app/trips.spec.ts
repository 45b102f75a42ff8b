import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { GARDEN, RIDE } from './support/requests.js';
import { PLATFORMS, type Service, start } from './support/start-app.js';

let service: Service;

describe.each(PLATFORMS)('trips over %s', (platform) => {
  beforeEach(async () => {
    service = await start(platform, { TRIP_SECONDS: '30' });
  });
  afterEach(() => service.app.close());

  const ride = async (riderId: string): Promise<string> => {
    const body = { ...RIDE, rider_id: riderId };
    const response = await request(service.url).post('/api/rides/request').send(body).expect(200);
    return response.body.trip_id;
  };
  const history = (query: object): request.Test => request(service.url).get('/api/trips/history').query(query);

  it('shows a trip to its rider after the end', async () => {
    const trip_id = await ride('alice');
    await ride('bob');
    expect((await history({ rider_id: 'alice' }).expect(200)).body).toEqual({ rider_id: 'alice', trips: [] });

    service.clock.ms += 30_000;
    expect((await history({ rider_id: 'alice' }).expect(200)).body).toEqual({
      rider_id: 'alice',
      trips: [
        {
          trip_id,
          driver_id: 'driver-0001',
          pickup: GARDEN,
          dropoff: { lat: 40.7484, lng: -73.9857 },
          distance_m: 689,
          fare: { amount_cents: 800, currency: 'USD' },
          started_at: '2024-01-01T00:00:00.000Z',
          ended_at: '2024-01-01T00:00:30.000Z',
        },
      ],
    });
  });

  it('shows the latest trips of the rider in the header first, up to the limit', async () => {
    const ids = [await ride('alice'), await ride('alice'), await ride('alice')];
    service.clock.ms += 30_000;
    const { body } = await history({ limit: 2 }).set('X-User-Id', 'alice').expect(200);
    expect(body.trips.map(({ trip_id }: { trip_id: string }) => trip_id)).toEqual([ids[2], ids[1]]);
  });

  it('requires a valid rider, from the query or the header', async () => {
    const anonymous = await history({}).expect(400);
    expect(anonymous.body.message).toEqual(['rider_id or the header X-User-Id must name the rider']);
    await history({}).set('X-User-Id', 'not an id').expect(400);
  });
});
