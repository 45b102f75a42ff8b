import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  RateLimit,
  RateLimiter,
  RateLimitMetricsModule,
  type RateLimitMetricsOptions,
  RateLimitModule,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { Counter, register, Registry } from 'prom-client';
import { Exposition } from '../support/exposition.js';
import { FROM_HEADERS, type HttpApp, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { ADA, Limited, measuredApp, THREE } from './support/routes.js';

@Controller()
class Routes extends Limited {
  @Get('chosen')
  @RateLimit(({ query }: RateLimitRequest<{ query: { name: string } }>) => ({ ...THREE, name: query.name }))
  chosen(): void {}
}

const app = (metrics?: RateLimitMetricsOptions): Promise<HttpApp> => measuredApp(Routes, undefined, metrics);

async function scrape(registry: { metrics(): Promise<string> }): Promise<Exposition> {
  return new Exposition(await registry.metrics());
}

/** Returns the numbers of requests, of allowed and of rejected ones. */
function counts(metrics: Exposition, policy: string, algorithm = 'token-bucket'): (number | undefined)[] {
  return ['requests', 'allowed', 'rejected'].map((what) =>
    metrics.get(`rate_limiter_${what}_total`, { policy, algorithm }),
  );
}

describe('metrics', () => {
  it('count the allowed and the rejected requests of every policy', async () => {
    const registry = new Registry();
    await using http = await app({ registry });
    expect(counts(await scrape(registry), 'three')).toEqual([0, 0, 0]);
    for (let i = 0; i < 5; i++) await http.as('ada', '/three');
    let metrics = await scrape(registry);
    expect(counts(metrics, 'three')).toEqual([5, 3, 2]);
    for (const user of ['bob', 'eve', 'bob', 'eve']) await http.as(user, '/both');
    metrics = await scrape(registry);
    expect(counts(metrics, 'two', 'fixed-window')).toEqual([4, 2, 2]);
    // Two more requests passed. The rejections of the other policy do not count here.
    expect(counts(metrics, 'three')).toEqual([9, 5, 2]);
    expect(metrics.get('rate_limiter_latency_seconds_count')).toBe(9);
    expect(metrics.get('rate_limiter_latency_seconds_bucket', { le: '+Inf' })).toBe(9);
    expect(metrics.get('rate_limiter_store_available')).toBe(1);
    expect(metrics.get('rate_limiter_store_failures_total')).toBe(0);
  });

  it('are well formed and bounded when a policy function uses names that clients send', async () => {
    const registry = new Registry();
    await using http = await app({ registry });
    const names = ['a"b', 'a\\', 'a\\n', '{}', 'a="b",c="d', '#', '__proto__', 'constructor', 'other', 'le', ' '];
    for (const name of names) {
      expect((await http.as('ada', `/chosen?name=${encodeURIComponent(name)}`)).status).toBe(200);
    }
    let metrics = await scrape(registry);
    for (const name of names) expect([name, ...counts(metrics, name)]).toEqual([name, 1, 1, 0]);

    const many = 1100;
    const limiter = http.app.get(RateLimiter);
    for (let i = 0; i < many; i++) await limiter.consume({ ...THREE, name: `tenant-${i}` }, ADA);
    for (let i = 0; i < many; i++) await limiter.consume({ ...THREE, name: `tenant-${i}` }, ADA);
    metrics = await scrape(registry);
    expect(metrics.labelsOf('rate_limiter_requests_total').length).toBeLessThanOrEqual(1005);
    expect(metrics.sum('rate_limiter_requests_total')).toBe(names.length + 2 * many);
    expect(metrics.sum('rate_limiter_allowed_total')).toBe(names.length + 2 * many);
    expect(counts(metrics, 'tenant-7')).toEqual([2, 2, 0]);
    // The policies of the module and of the routes have their series from the start.
    expect(counts(metrics, 'three')).toEqual([0, 0, 0]);
    expect(metrics.get('rate_limiter_requests_total', { policy: 'other', algorithm: 'token-bucket' })).toBeGreaterThan(
      2 * (many - 1000),
    );
  });

  it('never contain an identity', async () => {
    const registry = new Registry();
    await using http = await app({ registry });
    const secrets = ['s3cr3t-key', 'rider-77', '} 1\nrate_limiter_requests_total 9', 'le="x"', '\u00ffada'];
    for (const secret of secrets) {
      const value = secret.replace('\n', '\t'); // no header has a line break
      for (let i = 0; i < 4; i++) await http.send('/both', { headers: { 'X-API-Key': value } });
      for (let i = 0; i < 4; i++) await http.send('/both', { headers: { 'X-User-Id': value } });
      const limiter = http.app.get(RateLimiter);
      for (let i = 0; i < 4; i++) await limiter.consume('three', { kind: 'user', value: secret });
    }
    const { text } = await scrape(registry);
    expect(text).toContain('policy="three"');
    for (const secret of [...secrets, '127.0.0.1']) expect(text).not.toContain(secret);
    expect(text).not.toMatch(/(user|key|ip):/);
  });
});

describe('the metrics module', () => {
  it('needs one import: without options it uses the default registry', async () => {
    await using http = await app();
    await http.as('ada', '/three');
    expect(counts(await scrape(register), 'three')).toEqual([1, 1, 0]);
  });

  it('imported twice, or by several applications of a process, counts each request once and ends with the last application', async () => {
    const registry = new Registry();
    const metrics = { registry };
    const first = await app(metrics);
    const second = await start('Fastify', {
      imports: [
        RateLimitMetricsModule.forRoot(metrics),
        RateLimitModule.forRoot({ identity: FROM_HEADERS, store: new StillStore() }),
        { module: class Twice {}, imports: [RateLimitMetricsModule.forRoot({ ...metrics })] },
      ],
      controllers: [Routes],
    });
    for (const http of [first, second]) for (let i = 0; i < 4; i++) await http.as('ada', '/three');
    expect(counts(await scrape(registry), 'three')).toEqual([8, 6, 2]);
    expect((await scrape(registry)).get('rate_limiter_latency_seconds_count')).toBe(8);
    await first.close();
    expect(counts(await scrape(registry), 'three')).toEqual([4, 3, 1]);
    await second.close();
    expect(registry.getMetricsAsArray()).toEqual([]);
    await using third = await app(metrics);
    await third.as('ada', '/three');
    expect(counts(await scrape(registry), 'three')).toEqual([1, 1, 0]);
  });

  it('stops the boot when the registry has another metric of the same name, and keeps that metric', async () => {
    const registry = new Registry();
    const name = 'rate_limiter_waiting';
    const theirs = new Counter({ name, help: 'Something else', registers: [registry] });
    await expect(app({ registry })).rejects.toMatchObject({
      name: 'RateLimitConfigError',
      code: 'FG_METRIC_NAME',
      message: expect.stringContaining(
        `RateLimitMetricsModule: the registry has a metric named '${name}' that is not the library's: give it a registry of its own`,
      ),
    });
    expect(registry.getMetricsAsArray()).toEqual([theirs]);
  });

  it.each<[string, unknown]>([
    [
      "'register' is not an option. Did you mean registry? The options are through, registry, meterProvider, spanAttributes",
      { register },
    ],
    ["spanAttributes must be a boolean, got 'yes'", { spanAttributes: 'yes' }],
    ['meterProvider must be a MeterProvider of OpenTelemetry, got an object', { meterProvider: {} }],
    [
      "registry has no effect, because the metrics go through 'opentelemetry': leave it out, or import the module once for each",
      { registry: new Registry(), through: 'opentelemetry' },
    ],
    ["registry must be a Registry of prom-client, got 'global'", { registry: 'global' }],
  ])('stops the boot: %s', async (problem, metrics) => {
    const boot = app(metrics as RateLimitMetricsOptions);
    await expect(boot).rejects.toMatchObject({ name: 'RateLimitConfigError' });
    await expect(boot).rejects.toThrow(`RateLimitMetricsModule: ${problem}`);
  });

  it('stops the boot without RateLimitModule', async () => {
    const boot = start('Express', { imports: [RateLimitMetricsModule.forRoot({ registry: new Registry() })] });
    await expect(boot).rejects.toThrow('RateLimitMetricsModule: needs RateLimitModule to be imported, too');
  });
});
