import { Controller, Get, type MiddlewareConsumer, Module } from '@nestjs/common';
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type Attributes, context, type Span, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import {
  RateLimit,
  RateLimitMetricsModule,
  type RateLimitMetricsOptions,
  RateLimitModule,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { Registry } from 'prom-client';
import { FROM_HEADERS, type HttpApp, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { Limited, THREE } from './support/routes.js';

/** A real tracer, whose spans stay in the process. */
const exporter = new InMemorySpanExporter();

@Controller()
class Routes extends Limited {
  @Get('shadow')
  @RateLimit({ ...THREE, name: 'tried', mode: 'shadow' })
  shadow(): void {}

  @Get('free')
  @SkipRateLimit()
  free(): void {}
}

@Module({ controllers: [Routes] })
class Spans {
  /** As an instrumentation of HTTP does. */
  configure(consumer: MiddlewareConsumer): void {
    const spans = (_: object, response: NodeJS.EventEmitter, next: () => void): void =>
      trace.getTracer('http').startActiveSpan('GET', (span: Span) => {
        response.once('finish', () => span.end());
        next();
      });
    consumer.apply(spans).forRoutes('{*all}');
  }
}

function app(options: RateLimitMetricsOptions, limits: object = {}): Promise<HttpApp> {
  return start('Express', {
    imports: [
      RateLimitModule.forRoot({ identity: FROM_HEADERS, store: new StillStore(), ...limits }),
      RateLimitMetricsModule.forRoot({ registry: new Registry(), ...options }),
      Spans,
    ],
  });
}

function attributes(): Attributes[] {
  return exporter.getFinishedSpans().map((span) => span.attributes);
}

beforeAll(() => {
  // A spec before this one in the process may have left others, and the first ones stay.
  trace.disable();
  context.disable();
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
});
beforeEach(() => exporter.reset());
afterAll(() => {
  trace.disable();
  context.disable();
});

it('the current span says what was decided', async () => {
  await using http = await app({ spanAttributes: true });
  for (const path of ['/three', '/both', '/both', '/both', '/shadow', '/free']) await http.as('ada', path);
  const said = (policy: string, result: string, remaining: number): Attributes => ({
    'rate_limit.policy': policy,
    'rate_limit.result': result,
    'rate_limit.remaining': remaining,
  });
  expect(attributes()).toEqual([
    said('three', 'allowed', 2),
    said('two', 'allowed', 1), // the other one has two left
    said('two', 'allowed', 0),
    said('two', 'rejected', 0), // the other one would have let it pass
    { 'rate_limit.result': 'allowed' }, // a shadow decides nothing
    {},
  ]);
});

it('never names an identity', async () => {
  await using http = await app({ spanAttributes: true }, { decisionIdentity: 'tag', onDecision: () => {} });
  for (const key of ['s3cr3t', 's3cr3t', 's3cr3t', 's3cr3t'])
    await http.send('/both', { headers: { 'X-API-Key': key } });
  await http.as('rider-77', '/both');
  expect(attributes()).toHaveLength(5);
  expect(JSON.stringify(attributes())).not.toMatch(/s3cr3t|rider-77|127\.0\.0\.1|user:|key:|ip:/);
});

it('a span that throws fails no request', async () => {
  await using http = await app({ spanAttributes: true });
  const provider = trace.getTracerProvider();
  const broken = { setAttributes: () => fail('setAttributes'), end: () => {} } as unknown as Span;
  trace.disable();
  trace.setGlobalTracerProvider({
    getTracer: () =>
      ({
        startActiveSpan: (_: string, run: (span: Span) => unknown) =>
          context.with(trace.setSpan(context.active(), broken), () => run(broken)),
      }) as never,
  });
  expect((await http.as('ada', '/three')).status).toBe(200);
  expect(http.logs.text).toContain("RateLimitMetricsModule: OpenTelemetry's SDK failed: setAttributes is broken");
  trace.disable();
  trace.setGlobalTracerProvider(provider);
});

function fail(what: string): never {
  throw new Error(`${what} is broken`);
}
