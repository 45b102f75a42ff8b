import { Controller, Get } from '@nestjs/common';
import { metrics as api } from '@opentelemetry/api';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';

const exporter = new PrometheusExporter({ preventServerStart: true });
api.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));

/** What a team with OpenTelemetry has before it adds the library. */
@Controller('metrics')
export class MetricsController {
  @Get()
  async metrics() {
    const { resourceMetrics } = await exporter.collect();
    return new PrometheusSerializer().serialize(resourceMetrics);
  }
}
