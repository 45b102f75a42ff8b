import { type DynamicModule, Module } from '@nestjs/common';
import { RateLimitMetricsModule } from 'nestjs-floodgate';
import { Registry } from 'prom-client';
import { HttpModule } from '../http/http.module.js';
import { MatchingModule } from '../matching/matching.module.js';
import { ZonesModule } from '../zones/zones.module.js';
import { DatabaseMetrics } from './database-metrics.js';
import { HttpMetrics } from './http-metrics.js';
import { MatchingMetrics } from './matching-metrics.js';
import { MetricsController } from './metrics.controller.js';

/** `GET /metrics` for Prometheus: rate limits, matching and HTTP. */
@Module({})
export class MetricsModule {
  static forRoot(): DynamicModule {
    // A registry for each application, so that several applications in a test's process do not add up.
    const registry = new Registry();
    return {
      module: MetricsModule,
      imports: [RateLimitMetricsModule.forRoot({ registry }), HttpModule, MatchingModule, ZonesModule],
      controllers: [MetricsController],
      providers: [{ provide: Registry, useValue: registry }, HttpMetrics, MatchingMetrics, DatabaseMetrics],
    };
  }
}
