import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { MemoryStore, type Policy, RateLimit, RateLimiter } from 'nestjs-floodgate';
import { Registry } from 'prom-client';
import { INSTRUMENTS } from '../../libs/floodgate/src/watch/publish/instruments.js';
import { Exposition } from '../support/exposition.js';
import { asUser } from '../support/http-app.js';
import { RedisServer } from '../support/redis-server.js';
import { PrometheusMetrics } from './support/otel.js';
import { ADA, Limited, measuredApp, THREE } from './support/routes.js';

const BUSY = {
  name: 'busy',
  algorithm: 'token-bucket',
  capacity: 4,
  refill: '1/h',
  priorities: { high: 1, low: 0.5 },
} as const;

const LINE: Policy = { name: 'line', algorithm: 'leaky-bucket', capacity: 5, drain: '20/s', by: 'global' };

@Controller()
class Routes extends Limited {
  @Get('line')
  @RateLimit(LINE)
  line(): void {}
}

it('a provider that throws fails no request, and the log says so', async () => {
  const broken = (): never => {
    throw new Error('broken');
  };
  const instrument = () => ({ record: broken });
  const meter = {
    createHistogram: instrument,
    createObservableCounter: instrument,
    createObservableGauge: instrument,
    createObservableUpDownCounter: instrument,
    addBatchObservableCallback: () => {},
    removeBatchObservableCallback: () => {},
  };
  await using http = await measuredApp(Routes, undefined, { meterProvider: { getMeter: () => meter } });
  expect((await http.as('ada', '/three')).status).toBe(200);
  expect(http.logs.text).toContain("RateLimitMetricsModule: OpenTelemetry's SDK failed: broken");
});

it('the names follow the conventions: no unit or type in them, no name that is the namespace of another, unique', () => {
  const names = INSTRUMENTS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) {
    expect(name).toMatch(/^rate_limit(?:\.[a-z]+(?:_[a-z]+)*)+$/);
    expect(name).not.toMatch(/_(?:total|seconds|count|ratio)$/);
    expect(names.filter((other) => other.startsWith(`${name}.`))).toEqual([]);
  }
  const metrics = INSTRUMENTS.flatMap(({ prometheus }) => prometheus.map(({ name }) => name));
  expect(new Set(metrics).size).toBe(metrics.length);
});

it.each([
  ['in a process', () => Promise.resolve(undefined)],
  ['on Redis', () => RedisServer.start()],
])("OpenTelemetry's Prometheus exporter has the figures of prom-client for the same requests, %s", async (_, open) => {
  const redis = await open();
  await using otel = new PrometheusMetrics();
  const registry = new Registry();
  const policies: Record<string, Policy> = {
    three: THREE,
    busy: BUSY,
    tried: { ...THREE, name: 'tried', capacity: 1, mode: 'shadow' },
    monthly: { ...THREE, name: 'monthly', else: 'credits' },
    credits: { ...THREE, name: 'credits' },
  };
  const limits = {
    policies,
    blockList: ['192.0.2.1'],
    ...(redis === undefined
      ? { store: new MemoryStore({ maxKeys: 4 }) }
      : { store: undefined, redis: redis.url, deadline: '10s' }),
  };
  const http = await measuredApp(Routes, limits, { registry }, { meterProvider: otel.provider });
  const limiter = http.app.get(RateLimiter);
  for (const user of ['ada', 'ada', 'bob', 'ada', 'ada', 'eve']) await http.as(user, '/three');
  for (const user of ['ada', 'bob', 'eve']) await http.as(user, '/both');
  for (let i = 0; i < 4; i++) await limiter.consume('tried', ADA);
  for (let i = 0; i < 5; i++) await limiter.consume('monthly', ADA);
  for (const priority of ['high', 'low', 'low', 'low']) await limiter.consume({ ...BUSY, priority }, ADA);
  const theirs = await otel.scrape();
  const ours = new Exposition(await registry.metrics());
  let compared = 0;
  for (const { name, kind, prometheus } of INSTRUMENTS) {
    for (const { name: metric, result } of prometheus) {
      for (const suffix of kind === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']) {
        const exported = `${name.replaceAll('.', '_')}${kind === 'counter' ? '_total' : ''}${suffix}`;
        const found = figures(theirs, exported, result);
        // An SDK has no histogram without a value.
        const expected = figures(ours, metric + suffix).filter((line) => found.length > 0 || !line.endsWith(' 0'));
        expect([metric, found]).toEqual([metric, expected]);
        compared += found.length;
      }
    }
  }
  expect(compared).toBeGreaterThan(75);
  expect(ours.sum('rate_limiter_run_over_total')).toBeGreaterThan(0);
  expect(
    ours.sum(redis === undefined ? 'rate_limiter_memory_overflow_total' : 'rate_limiter_batch_size_count'),
  ).toBeGreaterThan(0);
  expect(ours.labelsOf('rate_limiter_rejected_total').some(({ priority }) => priority === 'low')).toBe(true);
  await http.close();
  await redis?.stop();
});

describe('the global provider', () => {
  it('is missing: boot says so, and the limits hold', async () => {
    await using http = await measuredApp(Routes, undefined, { through: 'opentelemetry' });
    expect(http.logs.text).toContain(
      'RateLimitMetricsModule: no MeterProvider of OpenTelemetry is registered, so nothing reads the metrics',
    );
    expect(await http.statuses(4, '/three', asUser('ada'))).toEqual([200, 200, 200, 429]);
  });
});

/** The figures of a metric, without the prefix of attributes, in one order. */
function figures(exposition: Exposition, name: string, result?: 'any' | 'allowed' | 'rejected'): string[] {
  const byLabels = new Map<string, number>();
  for (const labels of exposition.labelsOf(name)) {
    const value = exposition.get(name, labels)!;
    const bare = Object.entries(labels).map(([label, text]) => `${label.replace(/^rate_limit_/, '')}=${text}`);
    const kept = bare.filter((label) => result === undefined || !label.startsWith('result=')).toSorted();
    if (result === 'any' || result === undefined || labels['rate_limit_result'] === result) {
      const id = JSON.stringify(kept);
      byLabels.set(id, (byLabels.get(id) ?? 0) + value);
    }
  }
  return Array.from(byLabels, ([labels, value]) => `${labels} ${Number(value.toPrecision(12))}`).toSorted();
}
