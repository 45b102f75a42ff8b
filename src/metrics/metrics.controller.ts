import { Controller, Get, Header } from '@nestjs/common';
import { Registry } from 'prom-client';
import { SkipRateLimit } from 'nestjs-floodgate';
import { processMetrics } from './process-metrics.js';

@Controller('metrics')
export class MetricsController {
  private rendering: Promise<string> | undefined;

  constructor(private readonly registry: Registry) {}

  /**
   * Asked by Prometheus every few seconds; on the day it matters it must not be rejected. Nobody is limited, so requests that
   * come while the text is made share it.
   */
  @Get()
  @SkipRateLimit()
  @Header('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
  metrics(): Promise<string> {
    this.rendering ??= Registry.merge([this.registry, processMetrics()])
      .metrics()
      .finally(() => (this.rendering = undefined));
    return this.rendering;
  }
}
