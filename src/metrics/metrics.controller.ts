import { Controller, Get, Header } from '@nestjs/common';
import { Registry } from 'prom-client';
import { SkipRateLimit } from 'nestjs-floodgate';
import { processMetrics } from './process-metrics.js';

@Controller('metrics')
export class MetricsController {
  constructor(private readonly registry: Registry) {}

  /** Asked by Prometheus every few seconds; on the day it matters it must not be refused. */
  @Get()
  @SkipRateLimit()
  @Header('Content-Type', Registry.PROMETHEUS_CONTENT_TYPE)
  metrics(): Promise<string> {
    return Registry.merge([this.registry, processMetrics()]).metrics();
  }
}
