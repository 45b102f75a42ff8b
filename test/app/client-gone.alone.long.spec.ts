import { type ClientRequest, request as open } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { LoggerService } from '@nestjs/common';
import request from 'supertest';
import type { MatchingStatistics } from '../../src/matching/matching-statistics.js';
import { Matching } from '../../src/matching/matching.js';
import { Exposition } from '../support/exposition.js';
import { until } from '../support/faults/until.js';
import { nodeWarnings, unhandledRejections } from '../support/node-warnings.js';
import { GARDEN, ITINERARY, RIDE, ZONE } from './support/requests.js';
import { type Service, start } from './support/start-app.js';
import { type MatchingService, startMatching } from './support/start-matching.js';

jest.setTimeout(60_000); // it is real time, and the machine may be busy

const BUSY = {
  MATCHING_WORKERS: '1',
  MATCHING_SERVICE_MS: '4000',
  MATCHING_PATIENCE_MS: '20000',
  MATCHING_CANCEL: 'on',
  DRIVERS_SEEDED: '1',
};
const ROUTES = [
  ['POST', '/api/rides/request', RIDE],
  ['POST', '/api/fares/estimate', ITINERARY],
  ['GET', `/api/drivers/nearby?lat=${GARDEN.lat}&lng=${GARDEN.lng}`, undefined],
] as const;

let pod: Service;
let service: MatchingService;
let logged: string[];
let warnings: () => Promise<string[]>;
let rejections: () => Promise<unknown[]>;

beforeEach(() => {
  logged = [];
  warnings = nodeWarnings();
  rejections = unhandledRejections();
});
afterEach(async () => {
  await pod.app.close();
  await service.app.close();
});

/** Sends a request whose client can leave. */
function send([method, path, body]: (typeof ROUTES)[number]): ClientRequest {
  const headers = { 'content-type': 'application/json' };
  const client = open(`${pod.url}${path}`, { method, headers, agent: false });
  client.on('error', () => undefined);
  client.end(body && JSON.stringify(body));
  return client;
}

/** The statistics of the pool itself. */
function statistics(): Promise<MatchingStatistics> {
  return service.app.get(Matching, { strict: false }).statistics();
}

async function seen(route: string, status: number): Promise<number | undefined> {
  const { text } = await request(pod.url).get('/metrics').expect(200);
  const labels = { method: route.includes('nearby') ? 'GET' : 'POST', route: route.split('?')[0]!, status };
  return new Exposition(text).get('ride_hailing_http_request_duration_seconds_count', labels);
}

describe('a client who leaves, with a matching service', () => {
  beforeEach(async () => {
    service = await startMatching(BUSY);
    pod = await start({ ...BUSY, MATCHING_URL: service.url });
    const note = (message: unknown): void => void logged.push(String(message));
    pod.app.useLogger({ log: note, warn: note, error: note, fatal: note } satisfies LoggerService);
  });

  it('gives up their place in the queue at once, and is no failure', async () => {
    const first = request(pod.url)
      .post('/api/rides/request')
      .send(RIDE)
      .then(({ body }) => body.status);
    await until('a search', 10_000, async () => (await statistics()).busy === 1);
    const clients = ROUTES.map(send);
    await until('a queue', 10_000, async () => (await statistics()).waiting === 3);
    for (const client of clients) client.destroy();
    await until('an empty queue', 10_000, async () => (await statistics()).waiting === 0);

    // The worker is still busy with the first request.
    const { busy, total } = await statistics();
    expect({ busy, ...total }).toMatchObject({ busy: 1, asked: 4, unavailable: 0, abandoned: 3 });
    for (const [, path] of ROUTES) expect(await until('a 499', 10_000, () => seen(path, 499))).toBe(1);
    expect(await first).toBe('matched');
    const { body } = await request(pod.url).get('/api/admin/zones/stats').expect(200);
    expect(body.zones).toContainEqual(
      expect.objectContaining({ zone: ZONE, requests: 2, matched: 1, no_driver: 0, unavailable: 0 }),
    );
    expect([logged, await warnings(), await rejections()]).toEqual([[], [], []]);
  });
});
