import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER, APP_PIPE } from '@nestjs/core';
import { ConfigModule } from '../../config/config.module.js';
import { Configuration } from '../../config/configuration.js';
import { HttpModule } from '../../http/http.module.js';
import { FlatValidationPipe } from '../../http/validation.js';
import { Clock } from '../../time/clock.js';
import { TimeModule } from '../../time/time.module.js';
import { LocalMatchingService } from '../local-matching.service.js';
import { MatchingUnavailableFilter } from '../matching-unavailable.filter.js';
import { Matching } from '../matching.js';
import { MatchingController } from './matching.controller.js';

function localMatching(configuration: Configuration, clock: Clock): Matching {
  return LocalMatchingService.create(configuration, clock);
}

/** Matching as a service of its own, one for all processes of the application. */
@Module({})
export class MatchingServiceModule {
  static forRoot(configuration: Configuration): DynamicModule {
    return {
      module: MatchingServiceModule,
      imports: [ConfigModule.forRoot(configuration), TimeModule, HttpModule],
      controllers: [MatchingController],
      providers: [
        { provide: Matching, inject: [Configuration, Clock], useFactory: localMatching },
        { provide: APP_PIPE, useClass: FlatValidationPipe },
        { provide: APP_FILTER, useClass: MatchingUnavailableFilter },
      ],
    };
  }
}
