import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { rateLimitFetch } from 'floodgate-client';
import { ITINERARY } from './support/requests.js';
import { type Service, start } from './support/start-app.js';

jest.setTimeout(60_000); // the test runs in real time, and the machine may be busy

const RIDERS = 200;
const BURST = 40;
const PER_SECOND = 20;
/** What fare estimates may fill of the burst: the rest stays free for rides. */
const ESTIMATES = BURST / 2;
const IDEAL_MS = ((RIDERS - ESTIMATES) / PER_SECOND) * 1000;

let service: Service;

afterEach(() => service.app.close());

describe('the ride-hailing application', () => {
  it('serves 200 riders of one gateway in the ideal time, and rejects none of them twice in a row', async () => {
    service = await start('Express', {
      RATE_LIMIT: 'on',
      MATCHING_LIMIT: String(PER_SECOND),
      MATCHING_BURST: String(BURST),
    });
    const statuses = new Map<string, number[]>();
    // The ideal time begins with the limiter's first decision, not with the 200 connections that the machine opens before it.
    let since = Infinity;
    const gateway = rateLimitFetch({
      partition: () => 'matching',
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        since = Math.min(since, performance.now());
        const rider = new Headers(init?.headers).get('X-User-Id')!;
        statuses.set(rider, [...(statuses.get(rider) ?? []), response.status]);
        return response;
      },
    });
    const estimate = (rider: string): Promise<Response> =>
      gateway(`${service.url}/api/fares/estimate`, {
        method: 'POST',
        headers: { 'X-User-Id': rider, 'Content-Type': 'application/json' },
        body: JSON.stringify(ITINERARY),
      });

    const responses = await Promise.all(Array.from({ length: RIDERS }, (_, i) => estimate(`rider-${i}`)));
    const tookMs = performance.now() - since;

    expect(responses.filter(({ status }) => status !== 200)).toEqual([]);
    expect([...statuses.values()].filter((of) => of.length > 2)).toEqual([]);
    expect(tookMs).toBeLessThanOrEqual(1.1 * IDEAL_MS);
    await Promise.all(responses.map((response) => response.arrayBuffer()));
  });
});
