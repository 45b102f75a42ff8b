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
import { PLATFORMS, type Service, start } from './support/start-app.js';
import { type MatchingService, startMatching } from './support/start-matching.js';

jest.setTimeout(20_000); // it is real time, and the machine may be busy

const BUSY = {
  MATCHING_WORKERS: '1',
  MATCHING_SERVICE_MS: '1500',
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
let service: MatchingService | undefined;
let logged: string[];
let warnings: () => Promise<string[]>;
let rejections: () => Promise<unknown[]>;

type Start = (platform: (typeof PLATFORMS)[number], variables: Record<string, string>) => Promise<void>;

const inThisProcess: Start = async (platform, variables) => {
  pod = await start(platform, variables);
};

const asAService: Start = async (platform, variables) => {
  service = await startMatching(variables);
  pod = await start(platform, { ...variables, MATCHING_URL: service.url });
};

beforeEach(() => {
  service = undefined;
  logged = [];
  warnings = nodeWarnings();
  rejections = unhandledRejections();
});
afterEach(async () => {
  await pod.app.close();
  await service?.app.close();
});

/** Sends a request whose client can leave. */
function send([method, path, body]: (typeof ROUTES)[number]): ClientRequest {
  const headers = { 'content-type': 'application/json' };
  const client = open(`${pod.url}${path}`, { method, headers, agent: false });
  client.on('error', () => undefined);
  client.end(body && JSON.stringify(body));
  return client;
}

/** The statistics of the pool itself, wherever it is. */
function statistics(): Promise<MatchingStatistics> {
  return (service ?? pod).app.get(Matching, { strict: false }).statistics();
}

async function seen(route: string, status: number): Promise<number | undefined> {
  const { text } = await request(pod.url).get('/metrics').expect(200);
  const labels = { method: route.includes('nearby') ? 'GET' : 'POST', route: route.split('?')[0]!, status };
  return new Exposition(text).get('ride_hailing_http_request_duration_seconds_count', labels);
}

describe.each([
  ['in this process', inThisProcess],
  ['as a service', asAService],
])('a client who leaves, with matching %s', (_, begin) => {
  describe.each(PLATFORMS)('over %s', (platform) => {
    beforeEach(async () => {
      await begin(platform, BUSY);
      const note = (message: unknown): void => void logged.push(String(message));
      pod.app.useLogger({ log: note, warn: note, error: note, fatal: note } satisfies LoggerService);
    });

    it('gives up their place in the queue at once, and is no failure', async () => {
      const first = request(pod.url)
        .post('/api/rides/request')
        .send(RIDE)
        .then(({ body }) => body.status);
      await until('a search', 2000, async () => (await statistics()).busy === 1);
      const clients = ROUTES.map(send);
      await until('a queue', 1000, async () => (await statistics()).waiting === 3);
      for (const client of clients) client.destroy();
      await until('an empty queue', 1000, async () => (await statistics()).waiting === 0);

      // The worker is still busy with the first request.
      const { busy, total } = await statistics();
      expect({ busy, ...total }).toMatchObject({ busy: 1, asked: 4, unavailable: 0, abandoned: 3 });
      for (const [, path] of ROUTES) expect(await until('a 499', 1000, () => seen(path, 499))).toBe(1);
      expect(await first).toBe('matched');
      const { body } = await request(pod.url).get('/api/admin/zones/stats').expect(200);
      expect(body.zones).toContainEqual(
        expect.objectContaining({ zone: ZONE, requests: 2, matched: 1, no_driver: 0, unavailable: 0 }),
      );
      expect([logged, await warnings(), await rejections()]).toEqual([[], [], []]);
    });

    it('takes no driver if they leave during the search', async () => {
      const client = send(ROUTES[0]);
      await until('a search', 2000, async () => (await statistics()).busy === 1);
      client.destroy();
      expect(await until('a 499', 1000, () => seen('/api/rides/request', 499))).toBe(1);
      // The search that has begun takes its time.
      expect((await statistics()).busy).toBe(1);
      const { body } = await request(pod.url).post('/api/rides/request').send(RIDE).expect(200);
      expect(body.status).toBe('matched');
      expect([logged, await warnings(), await rejections()]).toEqual([[], [], []]);
    });
  });
});
