import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import { Registry } from 'prom-client';
import { RateLimitMetricsModule } from 'nestjs-floodgate';
import { openLimiter } from '../../floodgate.js';
import { counted } from '../../measure.js';
import { askingUsers, BUCKET, featureScenario, ownOptions } from './support.js';

const UNWATCHED = 'unwatched';
const METRICS = 'RateLimitMetricsModule';
const OTEL = 'RateLimitMetricsModule, OpenTelemetry';
const HOOK = 'onDecision';

/** What it costs to be watched: the same limiter without, with metrics through each of both packages, and with a hook that does nothing. */
export const watched = featureScenario({
  title: 'Watched',
  url: import.meta.url,
  base: UNWATCHED,
  prices: { metrics: METRICS, metricsOtel: OTEL, onDecision: HOOK },
});

export async function contestants(bench, place) {
  const options = () => ownOptions(bench, place, { bucket: BUCKET });
  const registry = new Registry();
  const unwatched = await openLimiter(bench, options());
  const measured = await openLimiter(bench, options(), [RateLimitMetricsModule.forRoot({ registry })]);
  const reader = new OnDemand();
  const meterProvider = new MeterProvider({ readers: [reader] });
  const observed = await openLimiter(bench, options(), [RateLimitMetricsModule.forRoot({ meterProvider })]);
  let told = 0;
  const hooked = await openLimiter(bench, { ...options(), onDecision: () => told++ });
  return [
    askingUsers(UNWATCHED, (user) => unwatched.consume('bucket', user)),
    askingUsers(
      METRICS,
      (user) => measured.consume('bucket', user),
      counted('counted', () => allowed(registry)),
    ),
    askingUsers(
      OTEL,
      (user) => observed.consume('bucket', user),
      counted('counted', () => recorded(reader)),
    ),
    askingUsers(
      HOOK,
      (user) => hooked.consume('bucket', user),
      counted('told', () => told),
    ),
  ];
}

async function allowed(registry) {
  const { values } = await registry.getSingleMetric('rate_limiter_allowed_total').get();
  return values[0].value;
}

/** Collects when it is asked, as an exporter of Prometheus does. */
class OnDemand extends MetricReader {
  onShutdown() {}

  onForceFlush() {}
}

async function recorded(reader) {
  const { resourceMetrics } = await reader.collect();
  const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
  const { dataPoints } = metrics.find(({ descriptor }) => descriptor.name === 'rate_limit.requests');
  return dataPoints.find(({ attributes }) => attributes['rate_limit.result'] === 'allowed').value;
}
