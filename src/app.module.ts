import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { RateLimitModule } from 'nestjs-floodgate';
import { ConfigModule } from './config/config.module.js';
import type { Configuration } from './config/configuration.js';
import { DriversModule } from './drivers/drivers.module.js';
import { FaresModule } from './fares/fares.module.js';
import { HealthModule } from './health/health.module.js';
import { FlatValidationPipe } from './http/validation.js';
import { MATCHING_LIMIT, matchingLimit } from './limits/matching-limit.js';
import { MatchingUnavailableFilter } from './matching/matching-unavailable.filter.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { RidesModule } from './rides/rides.module.js';
import { TimeModule } from './time/time.module.js';
import { TripsModule } from './trips/trips.module.js';
import { ZonesModule } from './zones/zones.module.js';

@Module({})
export class AppModule {
  static forRoot(configuration: Configuration): DynamicModule {
    const { redisUrl, pods } = configuration;
    const limited = configuration.rateLimit !== 'off';
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(configuration),
        TimeModule,
        // Without enforcement there is nothing to ask Redis for.
        RateLimitModule.forRoot({
          redis: limited ? redisUrl : undefined,
          guard: limited,
          localShare: pods,
          policies: { [MATCHING_LIMIT]: matchingLimit(configuration) },
        }),
        DriversModule,
        FaresModule,
        HealthModule,
        MetricsModule.forRoot(),
        RidesModule,
        TripsModule,
        ZonesModule,
      ],
      providers: [
        { provide: APP_PIPE, useClass: FlatValidationPipe },
        { provide: APP_FILTER, useClass: MatchingUnavailableFilter },
      ],
    };
  }
}
