import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { GARDEN, ITINERARY, RIDE, ZONE } from './support/requests.js';
import { type Service, start } from './support/start-app.js';
import { type MatchingService, startMatching } from './support/start-matching.js';

let closing: (() => unknown)[] = [];

beforeEach(() => {
  closing = [];
});
afterEach(async () => {
  for (const close of closing) await close();
});

async function matchingService(variables: Record<string, string> = {}, port = 0): Promise<MatchingService> {
  const service = await startMatching(variables, undefined, port);
  closing.push(() => service.app.close());
  return service;
}

/** Another server at the address of the matching service. */
async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => (server.closeAllConnections(), server.close()));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('an application with a matching service', () => {
  async function pod(url: string, variables: Record<string, string> = {}): Promise<Service> {
    const service = await start({ MATCHING_URL: url, ...variables });
    closing.unshift(() => service.app.close());
    return service;
  }

  const ride = ({ url }: Service): request.Test => request(url).post('/api/rides/request').send(RIDE);
  const estimate = ({ url }: Service): request.Test => request(url).post('/api/fares/estimate').send(ITINERARY);
  const nearby = ({ url }: Service): request.Test => request(url).get('/api/drivers/nearby').query(GARDEN);

  it('shares drivers, surges and positions with other processes', async () => {
    const { url } = await matchingService({ DRIVERS_SEEDED: '0' });
    const pods = [await pod(url), await pod(url)] as const;
    await request(pods[0].url)
      .post('/api/drivers/location')
      .send([
        { driver_id: 'd1', ...GARDEN },
        { driver_id: 'd2', lat: 40.7515, lng: -73.9934 },
      ])
      .expect(200);
    await request(pods[0].url).put(`/api/admin/zones/${ZONE}/surge`).send({ factor: 2 }).expect(200);

    expect((await nearby(pods[1]).expect(200)).body.drivers).toHaveLength(2);
    expect((await estimate(pods[1]).expect(200)).body).toMatchObject({ surge_factor: 2, fare: { amount_cents: 1600 } });
    const bodies = (await Promise.all(pods.map((one) => ride(one).expect(200)))).map(({ body }) => body);
    expect(new Set(bodies.map(({ driver }) => driver.driver_id))).toEqual(new Set(['d1', 'd2']));
    expect(bodies[0].fare).toEqual({ amount_cents: 1600, currency: 'USD' });
    expect((await ride(pods[0]).expect(200)).body).toEqual({ status: 'no_driver' });
    const { body } = await request(pods[1].url).get('/api/admin/zones/stats').expect(200);
    expect(body.zones).toEqual([
      expect.objectContaining({ zone: ZONE, drivers_free: 0, drivers_busy: 2, surge_factor: 2 }),
    ]);
  });

  it("passes on the service's 503", async () => {
    const { url } = await matchingService({ MATCHING_WORKERS: '1', MATCHING_QUEUE: '0', MATCHING_SERVICE_MS: '1500' });
    const one = await pod(url);
    const bodies = (await Promise.all([ride(one), ride(one)])).map(({ body }) => body);
    expect(bodies).toContainEqual(expect.objectContaining({ status: 'matched' }));
    expect(bodies).toContainEqual(expect.objectContaining({ message: 'matching is unavailable: queue full' }));
  });

  it('answers 503 while the service is unavailable, and recovers by itself', async () => {
    const first = await startMatching();
    const one = await pod(first.url);
    await ride(one).expect(200);
    await first.app.close();
    for (const ask of [ride, estimate, nearby]) {
      const { body } = await ask(one).expect(503);
      expect(body.message).toBe('matching is unavailable: out of reach');
    }
    await request(one.url).get('/healthz').expect(200);

    await matchingService({}, Number(new URL(first.url).port));
    await ride(one).expect(200);
    await nearby(one).expect(200);
  });

  it('waits no longer than the service may take', async () => {
    const url = await listening(createServer(() => undefined));
    const one = await pod(url, { MATCHING_PATIENCE_MS: '100' });
    const { body } = await ride(one).expect(503);
    expect(body.message).toBe('matching is unavailable: no answer in time');
  });

  it.each([
    [502, '<html>Bad gateway</html>', 503],
    [200, 'null', 500],
  ])('turns a %i with %s into a %i', async (status, text, expected) => {
    const url = await listening(createServer((_, response) => response.writeHead(status).end(text)));
    const one = await pod(url);
    for (const ask of [ride, estimate, nearby]) expect((await ask(one)).status).toBe(expected);
  });
});
