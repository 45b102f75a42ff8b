import { Module } from '@nestjs/common';
import { Configuration } from '../config/configuration.js';
import { Clock } from '../time/clock.js';
import { LocalMatchingService } from './local-matching.service.js';
import { Matching } from './matching.js';
import { RemoteMatching } from './remote-matching.js';

@Module({
  providers: [
    {
      provide: Matching,
      inject: [Configuration, Clock],
      useFactory: (configuration: Configuration, clock: Clock): Matching => {
        const { url } = configuration.matching;
        return url === undefined
          ? LocalMatchingService.create(configuration, clock)
          : new RemoteMatching(url, configuration.matching);
      },
    },
  ],
  exports: [Matching],
})
export class MatchingModule {}
