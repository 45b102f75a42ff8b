import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { AccountsModule } from './accounts/accounts.module.js';
import { AdminModule } from './admin/admin.module.js';
import type { Configuration } from './config/configuration.js';
import { ConfigurationModule } from './config/configuration.module.js';
import { controlRoom } from './control-room.js';
import { ControlRoomModule } from '../demo/control-room/control-room.module.js';
import { DatabaseModule } from './database/database.module.js';
import { DriversModule } from './drivers/drivers.module.js';
import { FaresModule } from './fares/fares.module.js';
import { HealthModule } from './health/health.module.js';
import { ClientGoneFilter } from './http/client-signal.js';
import { HttpModule } from './http/http.module.js';
import { FlatValidationPipe } from './http/validation.js';
import { LimitsModule } from './limits/limits.module.js';
import { LoginModule } from './login/login.module.js';
import { MatchingUnavailableFilter } from './matching/matching-unavailable.filter.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { PlaygroundModule } from '../demo/playground/playground.module.js';
import { RidesModule } from './rides/rides.module.js';
import { TimeModule } from './time/time.module.js';
import { TripsModule } from './trips/trips.module.js';
import { ZonesModule } from './zones/zones.module.js';

/** The ride-hailing application: one module for each area. */
@Module({
  imports: [
    TimeModule,
    HttpModule,
    DatabaseModule,
    AccountsModule,
    AdminModule,
    LoginModule,
    RidesModule,
    FaresModule,
    DriversModule,
    TripsModule,
    ZonesModule,
    HealthModule,
  ],
  providers: [
    { provide: APP_PIPE, useClass: FlatValidationPipe },
    { provide: APP_FILTER, useClass: MatchingUnavailableFilter },
    { provide: APP_FILTER, useClass: ClientGoneFilter },
  ],
})
export class AppModule {
  static forRoot(configuration: Configuration): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigurationModule.forRoot(configuration),
        LimitsModule.forRoot({ guard: configuration.rateLimitGuard }),
        MetricsModule.forRoot(),
        ...(configuration.controlRoom === 'off'
          ? []
          : [ControlRoomModule.forRootAsync(controlRoom(configuration)), PlaygroundModule]),
      ],
    };
  }
}
