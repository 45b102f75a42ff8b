import { Controller, Get, Header } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProduces, ApiTags } from '@nestjs/swagger';
import { Registry } from 'prom-client';
import { SkipRateLimit } from 'nestjs-floodgate';
import { processMetrics } from './process-metrics.js';

@ApiTags('Process')
@Controller('metrics')
export class MetricsController {
  private rendering: Promise<string> | undefined;

  constructor(private readonly registry: Registry) {}

  /**
   * Prometheus asks every few seconds, also during a surge, so the route is not limited. Concurrent requests share one text,
   * so that a flood of them costs little.
   */
  @Get()
  @ApiOperation({ summary: 'Metrics for Prometheus' })
  @ApiOkResponse({ description: "Prometheus's text format", schema: { type: 'string' } })
  @ApiProduces('text/plain')
  @SkipRateLimit()
  @Header('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
  metrics(): Promise<string> {
    this.rendering ??= Registry.merge([this.registry, processMetrics()])
      .metrics()
      .finally(() => (this.rendering = undefined));
    return this.rendering;
  }
}
