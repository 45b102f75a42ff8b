import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { metrics as api } from '@opentelemetry/api';
import { AggregationTemporality, type Histogram, InstrumentType, type MetricData } from '@opentelemetry/sdk-metrics';
import {
  MemoryStore,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitMetricsModule,
  type RateLimitMetricsOptions,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { Registry } from 'prom-client';
import { INSTRUMENTS } from '../../libs/rate-limit/src/metrics/publish/instruments.js';
import { Exposition } from '../support/exposition.js';
import { until } from '../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, PLATFORMS, start } from '../support/http-app.js';
import { RedisServer } from '../support/redis-server.js';
import { StillStore } from '../support/still-store.js';
import { InMemoryMetrics, PrometheusMetrics, valueOf } from './support/otel.js';

const THREE: Policy = { name: 'three', algorithm: 'token-bucket', capacity: 3, refill: '1/h' };
const TWO: Policy = { name: 'two', algorithm: 'fixed-window', limit: 2, window: '300d', by: 'global' };
const ADA = { kind: 'user', value: 'ada' };
const OF_THREE = { 'rate_limit.policy': 'three', 'rate_limit.algorithm': 'token-bucket' };
const BUSY = {
  name: 'busy',
  algorithm: 'token-bucket',
  capacity: 4,
  refill: '1/h',
  priorities: { high: 1, low: 0.5 },
} as const;

const LINE: Policy = { name: 'line', algorithm: 'leaky-bucket', capacity: 5, drain: '20/s', by: 'global' };

@Controller()
class Routes {
  @Get('line')
  @RateLimit(LINE)
  line(): void {}

  @Get('three')
  @RateLimit(THREE)
  three(): void {}

  @Get('both')
  @RateLimit(THREE, TWO)
  both(): void {}
}

interface Options {
  readonly limits?: RateLimitModuleOptions;
  readonly metrics?: RateLimitMetricsOptions[];
  readonly platform?: (typeof PLATFORMS)[number];
}

function app({ limits, metrics = [], platform = 'Express' }: Options): Promise<HttpApp> {
  return start(platform, {
    imports: [
      RateLimitModule.forRoot({
        identity: FROM_HEADERS,
        store: new StillStore(),
        policies: { three: THREE },
        ...limits,
      }),
      ...metrics.map((options) => ({ module: class Metrics {}, imports: [RateLimitMetricsModule.forRoot(options)] })),
    ],
    controllers: [Routes],
  });
}

/** Returns the numbers of allowed, of rejected and of other requests. */
function results(collected: ReadonlyMap<string, MetricData>, of: object = OF_THREE, name = 'rate_limit.requests') {
  const metric = collected.get(name);
  return ['allowed', 'rejected', 'other'].map((result) => valueOf(metric, { ...of, 'rate_limit.result': result }));
}

describe.each(PLATFORMS)('through OpenTelemetry over %s', (platform) => {
  it('count the allowed and the rejected requests of every policy', async () => {
    await using memory = new InMemoryMetrics();
    await using http = await app({ platform, metrics: [{ meterProvider: memory.provider }] });
    expect(results(await memory.collect())).toEqual([0, 0, 0]);
    for (let i = 0; i < 5; i++) await http.as('ada', '/three');
    for (const user of ['bob', 'eve', 'bob', 'eve']) await http.as(user, '/both');
    const collected = await memory.collect();
    // Two of the last four were rejected by the other policy.
    expect(results(collected)).toEqual([5, 2, 2]);
    expect(results(collected, { 'rate_limit.policy': 'two', 'rate_limit.algorithm': 'fixed-window' })).toEqual([
      2, 2, 0,
    ]);
    const latency = valueOf(collected.get('rate_limit.decision.duration')) as Histogram;
    expect(latency.count).toBe(9);
    expect(latency.sum).toBeLessThan(1); // seconds
    expect(latency.buckets.boundaries.slice(0, 2)).toEqual([0.000_05, 0.000_1]);
    expect(valueOf(collected.get('rate_limit.store_available'))).toBe(1);
    expect(await memory.scopes()).toEqual(['nestjs-floodgate']);
  });
});

describe('what mirrors the metrics of ASP.NET', () => {
  it('the time in the queue, by policy and result', async () => {
    await using memory = new InMemoryMetrics();
    const registry = new Registry();
    const http = await app({ metrics: [{ meterProvider: memory.provider }, { registry }] });
    await Promise.all(Array.from({ length: 3 }, () => http.send('/line'))); // the clock stands: two wait 50 and 100 ms
    const of = { 'rate_limit.policy': 'line', 'rate_limit.result': 'allowed' };
    const waited = valueOf((await memory.collect()).get('rate_limit.request.time_in_queue'), of) as Histogram;
    expect(waited).toMatchObject({ count: 2, buckets: { boundaries: expect.arrayContaining([0.005, 10]) } });
    expect(waited.sum).toBeGreaterThan(0.1);
    const shown = new Exposition(await registry.metrics());
    const labels = { policy: 'line', result: 'allowed' };
    expect(shown.get('rate_limiter_time_in_queue_seconds_count', labels)).toBe(2);
    expect(shown.get('rate_limiter_time_in_queue_seconds_sum', labels)).toBeCloseTo(waited.sum!, 9);
    const stay = Array.from({ length: 3 }, () => http.send('/line'));
    await until('two wait', 1000, () => http.app.get(RateLimiter).stats().waiting >= 2);
    await http.close();
    await Promise.all(stay);
    const canceled = { ...of, 'rate_limit.result': 'canceled' };
    const left = valueOf((await memory.collect()).get('rate_limit.request.time_in_queue'), canceled) as Histogram;
    expect(left.count).toBeGreaterThanOrEqual(2);
  });

  it('the leases in use, which fall to 0 again', async () => {
    await using memory = new InMemoryMetrics();
    await using http = await app({ metrics: [{ meterProvider: memory.provider }] });
    const exports: Policy = { name: 'exports', algorithm: 'concurrency', limit: 2, lease: '1m' };
    const leases = async () =>
      valueOf((await memory.collect()).get('rate_limit.active_request_leases'), { 'rate_limit.policy': 'exports' });
    expect(await leases()).toBeUndefined();
    const limiter = http.app.get(RateLimiter);
    const held = [await limiter.acquire(exports, ADA), await limiter.acquire(exports, ADA)];
    await limiter.acquire(exports, ADA); // rejected
    expect(await leases()).toBe(2);
    held[0]!.release();
    expect(await leases()).toBe(1);
    held[1]!.release();
    expect(await leases()).toBe(0);
  });
});

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
  await using http = await app({ metrics: [{ meterProvider: { getMeter: () => meter } }] });
  expect((await http.as('ada', '/three')).status).toBe(200);
  expect(http.logs.text).toContain("RateLimitMetricsModule: OpenTelemetry's SDK failed: broken");
});

it('every instrument has the name, unit and kind of the table', async () => {
  await using memory = new InMemoryMetrics();
  await using http = await app({ metrics: [{ meterProvider: memory.provider }] });
  await http.as('ada', '/three');
  const collected = await memory.collect();
  const kinds = {
    counter: InstrumentType.OBSERVABLE_COUNTER,
    sum: InstrumentType.OBSERVABLE_UP_DOWN_COUNTER,
    gauge: InstrumentType.OBSERVABLE_GAUGE,
    histogram: InstrumentType.HISTOGRAM,
  };
  for (const [name, { descriptor, dataPoints }] of collected) {
    const { help, unit, kind, labels } = INSTRUMENTS.find((one) => one.name === name)!;
    expect(descriptor).toMatchObject({ name, description: help, unit, type: kinds[kind] });
    const attributes = new Set(dataPoints.flatMap((point) => Object.keys(point.attributes)));
    for (const attribute of attributes) expect(labels.map((label) => `rate_limit.${label}`)).toContain(attribute);
  }
  // Those that need no use of their feature.
  expect([...collected.keys()]).toEqual(
    expect.arrayContaining(['rate_limit.requests', 'rate_limit.decision.duration', 'rate_limit.queued_requests']),
  );
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
    tried: { ...THREE, name: 'tried', candidate: { capacity: 1 } },
    monthly: { ...THREE, name: 'monthly', else: 'credits' },
    credits: { ...THREE, name: 'credits' },
  };
  const http = await app({
    limits: {
      policies,
      blockList: ['192.0.2.1'],
      ...(redis === undefined ? { store: new MemoryStore({ maxKeys: 4 }) } : { store: undefined, redis: redis.url }),
    },
    metrics: [{ registry }, { meterProvider: otel.provider }],
  });
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

describe('several applications of a process', () => {
  it('add up, a module that is imported twice counts once, and what an application counted stays when it ends', async () => {
    await using memory = new InMemoryMetrics();
    const metrics = [{ meterProvider: memory.provider }, { meterProvider: memory.provider }];
    const first = await app({ metrics });
    const second = await app({ platform: 'Fastify', metrics });
    for (const http of [first, second]) for (let i = 0; i < 4; i++) await http.as('ada', '/three');
    expect(results(await memory.collect())).toEqual([6, 2, 0]);
    await first.close();
    let collected = await memory.collect();
    expect(results(collected)).toEqual([6, 2, 0]);
    expect((valueOf(collected.get('rate_limit.decision.duration')) as Histogram).count).toBe(8);
    await second.as('bob', '/three');
    await second.close();
    expect(results(await memory.collect())).toEqual([6, 2, 0]);
    await using third = await app({ metrics });
    await third.as('ada', '/three');
    collected = await memory.collect();
    expect(results(collected)).toEqual([8, 2, 0]);
    expect((valueOf(collected.get('rate_limit.decision.duration')) as Histogram).count).toBe(10);
  });

  it('are counted once by an exporter of differences, also when one of them ends', async () => {
    await using memory = new InMemoryMetrics(AggregationTemporality.DELTA);
    const metrics = [{ meterProvider: memory.provider }];
    const first = await app({ metrics });
    await using second = await app({ metrics });
    for (const http of [first, second]) for (let i = 0; i < 4; i++) await http.as('ada', '/three');
    expect(results(await memory.collect())).toEqual([6, 2, 0]);
    await first.close();
    expect(results(await memory.collect())).toEqual([0, 0, 0]);
    await second.as('bob', '/three');
    expect(results(await memory.collect())).toEqual([1, 0, 0]);
  });

  it('are not asked any more when all have ended', async () => {
    await using memory = new InMemoryMetrics();
    const http = await app({ metrics: [{ meterProvider: memory.provider }] });
    const limiter = http.app.get(RateLimiter);
    let asked = 0;
    const stats = limiter.stats.bind(limiter);
    limiter.stats = () => {
      asked++;
      return stats();
    };
    await memory.collect();
    expect(asked).toBe(1); // once for all instruments
    await http.close();
    asked = 0;
    await memory.collect();
    await limiter.consume('three', ADA).catch(() => undefined);
    expect(asked).toBe(0);
    const latency = valueOf((await memory.collect()).get('rate_limit.decision.duration')) as Histogram | undefined;
    expect(latency?.count ?? 0).toBe(0);
  });
});

it('names of policies are bounded, and no attribute contains an identity', async () => {
  await using memory = new InMemoryMetrics();
  await using http = await app({ metrics: [{ meterProvider: memory.provider, spanAttributes: true }] });
  const limiter = http.app.get(RateLimiter);
  const secrets = ['s3cr3t-key', 'rider-77', '\u00ffada'];
  for (const secret of secrets) {
    for (let i = 0; i < 4; i++) await http.send('/both', { headers: { 'X-API-Key': secret } });
    for (let i = 0; i < 4; i++) await http.send('/both', { headers: { 'X-User-Id': secret } });
  }
  const text = JSON.stringify([...(await memory.collect())]);
  expect(text).toContain('three');
  for (const secret of [...secrets, '127.0.0.1']) expect(text).not.toContain(secret);
  for (let i = 0; i < 1100; i++) await limiter.consume({ ...THREE, name: `tenant-${i}` }, ADA);
  const points = (await memory.collect()).get('rate_limit.requests')!.dataPoints;
  expect(new Set(points.map(({ attributes }) => attributes['rate_limit.policy'])).size).toBeLessThanOrEqual(1005);
});

describe('the global provider', () => {
  it('is taken as it is at the end of the boot', async () => {
    await using memory = new InMemoryMetrics();
    api.setGlobalMeterProvider(memory.provider);
    try {
      await using http = await app({ metrics: [{ through: 'opentelemetry' }] });
      await http.as('ada', '/three');
      expect(results(await memory.collect())).toEqual([1, 0, 0]);
      expect(http.logs.text).not.toContain('MeterProvider');
    } finally {
      api.disable();
    }
  });

  it('is missing: boot says so, and the limits hold', async () => {
    await using http = await app({ metrics: [{ through: 'opentelemetry' }] });
    expect(http.logs.text).toContain(
      'RateLimitMetricsModule: no MeterProvider of OpenTelemetry is registered, so nothing reads the metrics',
    );
    const statuses = [];
    for (let i = 0; i < 4; i++) statuses.push((await http.as('ada', '/three')).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
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
