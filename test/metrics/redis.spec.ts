import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  type OnStoreFailure,
  type Policy,
  RateLimiter,
  RateLimitMetricsModule,
  RateLimitModule,
} from 'nestjs-floodgate';
import { Registry } from 'prom-client';
import { Exposition } from '../support/exposition.js';
import { until } from '../support/faults/until.js';
import { type HttpApp, start } from '../support/http-app.js';
import { RedisServer } from '../support/redis-server.js';

const POLICY: Policy = { name: 'rides', algorithm: 'token-bucket', capacity: 100, refill: '1/h' };
const LABELS = { policy: 'rides', algorithm: 'token-bucket' };
const ADA = { kind: 'user', value: 'ada' };

/** The library may take so long to notice an outage. It gives up the connection of a hanging Redis after a second. */
const OUTAGE_MS = 10_000;
const RECOVERY_MS = 15_000;

let server: RedisServer;
let registry: Registry;
let http: HttpApp;
let limiter: RateLimiter;

beforeEach(async () => {
  server = await RedisServer.start();
});

afterEach(async () => {
  await http.close();
  await server.stop();
});

async function open(onStoreFailure: OnStoreFailure, deadline: '1s' | '10s' = '1s'): Promise<void> {
  registry = new Registry();
  http = await start('Express', {
    imports: [
      RateLimitModule.forRoot({
        redis: server.url,
        deadline,
        onStoreFailure,
        policies: { rides: POLICY },
      }),
      RateLimitMetricsModule.forRoot({ registry }),
    ],
  });
  limiter = http.app.get(RateLimiter);
}

async function scrape(): Promise<Exposition> {
  return new Exposition(await registry.metrics());
}

/** Sends `count` requests at once, and waits until each is decided or fails. */
async function ask(count: number): Promise<void> {
  await Promise.allSettled(Array.from({ length: count }, () => limiter.consume('rides', ADA)));
}

it('the metrics show the size of each batch and the latency of each request', async () => {
  await open('closed', '10s');
  await ask(1);
  await ask(50);
  const metrics = await scrape();
  expect(metrics.get('rate_limiter_batch_size_count')).toBe(2);
  expect(metrics.get('rate_limiter_batch_size_sum')).toBe(51);
  expect(metrics.get('rate_limiter_batch_size_bucket', { le: 1 })).toBe(1);
  expect(metrics.get('rate_limiter_batch_size_bucket', { le: 32 })).toBe(1);
  expect(metrics.get('rate_limiter_batch_size_bucket', { le: 64 })).toBe(2);
  expect(metrics.get('rate_limiter_latency_seconds_count')).toBe(51);
  expect(metrics.get('rate_limiter_latency_seconds_bucket', { le: 0.00005 })).toBe(0); // no round trip is as short
  expect(metrics.get('rate_limiter_latency_seconds_bucket', { le: '+Inf' })).toBe(51);
});

describe.each<[string, OnStoreFailure, () => void | Promise<void>, () => void | Promise<void>]>([
  ['killed', 'closed', () => server.kill(), () => server.restart()],
  ['stopped', 'local', () => server.pause(), () => server.resume()],
])('a Redis that is %s', (_, mode, end, back) => {
  it(`shows in the metrics until it is available again (onStoreFailure '${mode}')`, async () => {
    await open(mode);
    await ask(3);
    await end();
    await ask(10);
    await until('an outage', OUTAGE_MS, async () => (await scrape()).get('rate_limiter_store_available') === 0);
    expect(limiter.stats().store).toEqual({
      available: false,
      reason: expect.stringMatching(/\S/),
      outageMs: expect.any(Number),
    });
    await ask(10);
    const during = await scrape();
    for (const other of ['local', 'open', 'closed']) {
      expect(during.get('rate_limiter_fallback_decisions_total', { mode: other })).toBe(other === mode ? 20 : 0);
    }
    expect(during.get('rate_limiter_requests_total', LABELS)).toBe(23);
    expect(during.get('rate_limiter_allowed_total', LABELS)).toBe(mode === 'closed' ? 3 : 23);
    expect(during.get('rate_limiter_rejected_total', LABELS)).toBe(0);
    const failures = during.get('rate_limiter_store_failures_total')!;
    // The failures grow without requests: an alert must not need traffic.
    await until(
      'a failed probe',
      10_000,
      async () => (await scrape()).get('rate_limiter_store_failures_total')! > failures,
    );

    await back();
    await until('decisions', RECOVERY_MS, async () => (await scrape()).get('rate_limiter_store_available') === 1);
    expect(limiter.stats().store).toEqual({ available: true, reason: undefined, outageMs: 0 });
    const before = await scrape();
    await ask(2);
    const after = await scrape();
    const delta = (name: string): number => after.sum(name) - before.sum(name);
    expect(delta('rate_limiter_requests_total')).toBe(2);
    expect(delta('rate_limiter_allowed_total')).toBe(2);
    expect(delta('rate_limiter_fallback_decisions_total')).toBe(0);
    expect(delta('rate_limiter_store_failures_total')).toBe(0);
  });
});
