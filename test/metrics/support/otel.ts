import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { DataPointType, MeterProvider } from '@opentelemetry/sdk-metrics';
import { Exposition } from '../../support/exposition.js';

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
