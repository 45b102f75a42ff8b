import { type DynamicModule, Module } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import type { Configuration } from '../../config/configuration.js';
import { ConfigurationModule } from '../../config/configuration.module.js';
import { ClientGoneFilter } from '../../http/client-signal.js';
import { HttpModule } from '../../http/http.module.js';
import { FlatValidationPipe } from '../../http/validation.js';
import { Clock } from '../../time/clock.js';
import { TimeModule } from '../../time/time.module.js';
import { LocalMatchingService } from '../local-matching.service.js';
import { MatchingUnavailableFilter } from '../matching-unavailable.filter.js';
import { Matching } from '../matching.js';
import { MatchingController } from './matching.controller.js';

/** The matching service, which all processes of the application can share. */
@Module({
  imports: [TimeModule, HttpModule],
  controllers: [MatchingController],
  providers: [
    {
      provide: Matching,
      inject: [ConfigService, Clock],
      useFactory: (config: ConfigService<Configuration, true>, clock: Clock): Matching =>
        LocalMatchingService.create(config, clock),
    },
    { provide: APP_PIPE, useClass: FlatValidationPipe },
    { provide: APP_FILTER, useClass: MatchingUnavailableFilter },
    { provide: APP_FILTER, useClass: ClientGoneFilter },
  ],
})
export class MatchingServiceModule {
  static forRoot(configuration: Configuration): DynamicModule {
    return { module: MatchingServiceModule, imports: [ConfigurationModule.forRoot(configuration)] };
  }
}
