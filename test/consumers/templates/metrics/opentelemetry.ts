import { Controller, Get, Module } from '@nestjs/common';
import { metrics as api } from '@opentelemetry/api';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { RateLimitMetricsModule, SkipRateLimit } from 'nestjs-floodgate';

const exporter = new PrometheusExporter({ preventServerStart: true });
api.setGlobalMeterProvider(new MeterProvider({ readers: [exporter] }));

@Controller('metrics')
class MetricsController {
  @Get()
  @SkipRateLimit()
  async metrics() {
    const { resourceMetrics } = await exporter.collect();
    return new PrometheusSerializer().serialize(resourceMetrics);
  }
}

@Module({
  imports: [RateLimitMetricsModule.forRoot({ through: 'opentelemetry', spanAttributes: true })],
  controllers: [MetricsController],
})
class MetricsModule {}

export const metrics = [MetricsModule];
