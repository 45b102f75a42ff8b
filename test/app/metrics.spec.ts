import { afterEach, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { Exposition } from '../support/exposition.js';
import { RIDE, ZONE } from './support/requests.js';
import { type Service, start } from './support/start-app.js';
import { startMatching } from './support/start-matching.js';

const HTTP = 'ride_hailing_http_request_duration_seconds';
const RESULTS = 'ride_hailing_matching_requests_total';

let service: Service;

afterEach(() => service.app.close());

async function scrape(): Promise<Exposition> {
  const response = await request(service.url).get('/metrics').expect(200);
  expect(response.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  return new Exposition(response.text);
}

const ride = (body: object = RIDE): request.Test => request(service.url).post('/api/rides/request').send(body);

describe('/metrics', () => {
  it('counts rejected requests, too, and requests without a route', async () => {
    service = await start({ RATE_LIMIT: 'on' });
    const surge = (): request.Test =>
      request(service.url).put(`/api/admin/zones/${ZONE}/surge`).set('X-User-Id', 'op').send({ factor: 2 });
    const statuses: number[] = [];
    for (let i = 0; i < 8; i++) statuses.push((await surge()).status);
    const rejected = statuses.filter((status) => status === 429).length;
    expect(rejected).toBe(3);
    for (let i = 0; i < 40; i++)
      await request(service.url)
        .get(`/${'x'.repeat(i)}/nothing?rider=${i}`)
        .expect(404);
    await request(service.url)
      .post('/api/fares/estimate')
      .set('Content-Type', 'application/json')
      .send('{')
      .expect(400);
    const metrics = await scrape();
    expect(metrics.get(`${HTTP}_count`, { method: 'PUT', route: '/api/admin/zones/:zone/surge', status: 429 })).toBe(
      rejected,
    );
    expect(metrics.sum('rate_limiter_rejected_total')).toBe(rejected);
    expect(metrics.get(`${HTTP}_count`, { method: 'GET', route: 'none', status: 404 })).toBe(40);
    const series = metrics.labelsOf(`${HTTP}_count`);
    expect(series.filter(({ status }) => status === '400')).toHaveLength(1);
    expect(series.length).toBeLessThanOrEqual(5);
  });

  it('has all values but those of an unavailable matching service', async () => {
    const matching = await startMatching();
    service = await start({ MATCHING_URL: matching.url });
    expect((await scrape()).get('ride_hailing_matching_queue')).toBe(0);
    await matching.app.close();
    await ride().expect(503);
    const metrics = await scrape();
    expect(metrics.get('ride_hailing_matching_queue')).toBeUndefined();
    expect(metrics.get('ride_hailing_matching_utilisation')).toBeUndefined();
    expect(metrics.get(RESULTS, { result: 'unavailable' })).toBe(1);
    expect(metrics.get('rate_limiter_store_available')).toBe(1);
  });
});
