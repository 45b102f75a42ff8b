import { type DynamicModule, Module } from '@nestjs/common';
import { RateLimitMetricsModule } from 'nestjs-floodgate';
import { Registry } from 'prom-client';
import { MatchingModule } from '../matching/matching.module.js';
import { ZonesModule } from '../zones/zones.module.js';
import { HttpMetrics } from './http-metrics.js';
import { MatchingMetrics } from './matching-metrics.js';
import { MetricsController } from './metrics.controller.js';

/** Metrics of the rate limits, of matching and of HTTP, for Prometheus. */
@Module({})
export class MetricsModule {
  static forRoot(): DynamicModule {
    // One of its own: several applications in a process, as in tests, do not add up.
    const registry = new Registry();
    return {
      module: MetricsModule,
      imports: [RateLimitMetricsModule.forRoot({ registry }), MatchingModule, ZonesModule],
      controllers: [MetricsController],
      providers: [{ provide: Registry, useValue: registry }, HttpMetrics, MatchingMetrics],
    };
  }
}
