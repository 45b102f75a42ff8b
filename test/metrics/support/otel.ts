import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type Histogram,
  InMemoryMetricExporter,
  MeterProvider,
  type MetricData,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { Exposition } from '../../support/exposition.js';

const NEVER_MS = 2 ** 30;

/** A real SDK whose metrics stay in the process. */
export class InMemoryMetrics implements AsyncDisposable {
  readonly provider: MeterProvider;
  private readonly exporter: InMemoryMetricExporter;

  constructor(temporality = AggregationTemporality.CUMULATIVE) {
    this.exporter = new InMemoryMetricExporter(temporality);
    const reader = new PeriodicExportingMetricReader({ exporter: this.exporter, exportIntervalMillis: NEVER_MS });
    this.provider = new MeterProvider({ readers: [reader] });
  }

  /** What is collected now, by the name of the instrument. */
  async collect(): Promise<ReadonlyMap<string, MetricData>> {
    this.exporter.reset();
    await this.provider.forceFlush();
    const scopes = this.exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics);
    return new Map(scopes.flatMap(({ metrics }) => metrics.map((metric) => [metric.descriptor.name, metric])));
  }

  /** The names of the scopes of what is collected now. */
  async scopes(): Promise<string[]> {
    await this.collect();
    return this.exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.map(({ scope }) => scope.name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.provider.shutdown();
  }
}

/** The value of an instrument with exactly these attributes. */
export function valueOf(metric: MetricData | undefined, attributes: object = {}): number | Histogram | undefined {
  const points = (metric?.dataPoints ?? []) as DataPoint<number | Histogram>[];
  const text = (of: object): string => JSON.stringify(Object.entries(of).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return points.find((point) => text(point.attributes) === text(attributes))?.value;
}

/** A real SDK with OpenTelemetry's Prometheus exporter, asked without its server. */
export class PrometheusMetrics implements AsyncDisposable {
  private readonly exporter = new PrometheusExporter({ preventServerStart: true });
  readonly provider = new MeterProvider({ readers: [this.exporter] });

  async scrape(): Promise<Exposition> {
    const { resourceMetrics, errors } = await this.exporter.collect();
    if (errors.length > 0) throw new AggregateError(errors);
    return new Exposition(new PrometheusSerializer(undefined, false, undefined, true, true).serialize(resourceMetrics));
  }

  /**
   * The names that Prometheus gives to what it gets by OTLP, by those of the exporter, without the `_bucket`, `_sum` and `_count` of
   * histograms. The exporter leaves out the units.
   *
   * Source: OpenTelemetry, "Prometheus and OpenMetrics Compatibility", "Metric Metadata".
   */
  async otlpNames(): Promise<ReadonlyMap<string, string>> {
    const { resourceMetrics } = await this.exporter.collect();
    const metrics = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics);
    return new Map(
      metrics.map((metric) => {
        const { name, unit } = metric.descriptor;
        const bare = name.replaceAll('.', '_');
        const total = 'isMonotonic' in metric && metric.isMonotonic ? '_total' : '';
        const ratio = DataPointType[metric.dataPointType] === 'GAUGE' && unit === '1' ? '_ratio' : '';
        return [bare + total, bare + (unit === 's' ? '_seconds' : ratio) + total];
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.provider.shutdown();
  }
}
