import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { ConfigModule } from './config/config.module.js';
import type { Configuration } from './config/configuration.js';
import { ControlRoomModule } from './control-room/control-room.module.js';
import { DriversModule } from './drivers/drivers.module.js';
import { FaresModule } from './fares/fares.module.js';
import { HealthModule } from './health/health.module.js';
import { HttpModule } from './http/http.module.js';
import { FlatValidationPipe } from './http/validation.js';
import { LimitsModule } from './limits/limits.module.js';
import { MatchingUnavailableFilter } from './matching/matching-unavailable.filter.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { RidesModule } from './rides/rides.module.js';
import { TimeModule } from './time/time.module.js';
import { TripsModule } from './trips/trips.module.js';
import { ZonesModule } from './zones/zones.module.js';

@Module({})
export class AppModule {
  static forRoot(configuration: Configuration): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot(configuration),
        TimeModule,
        LimitsModule.forRoot(configuration),
        DriversModule,
        FaresModule,
        HealthModule,
        HttpModule,
        MetricsModule.forRoot(),
        RidesModule,
        TripsModule,
        ZonesModule,
        ...(configuration.controlRoom === 'off' ? [] : [ControlRoomModule]),
      ],
      providers: [
        { provide: APP_PIPE, useClass: FlatValidationPipe },
        { provide: APP_FILTER, useClass: MatchingUnavailableFilter },
      ],
    };
  }
}
