import { Module } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import type { Configuration } from '../config/configuration.js';
import { Clock } from '../time/clock.js';
import { LocalMatchingService } from './local-matching.service.js';
import { Matching } from './matching.js';
import { RemoteMatching } from './remote-matching.js';

/** Provides `Matching`: in this process, or over HTTP when `MATCHING_URL` names a service. */
@Module({
  providers: [
    {
      provide: Matching,
      inject: [ConfigService, Clock],
      useFactory: (config: ConfigService<Configuration, true>, clock: Clock): Matching => {
        const matching = config.get('matching', { infer: true });
        return matching.url === undefined
          ? LocalMatchingService.create(config, clock)
          : new RemoteMatching(matching.url, matching);
      },
    },
  ],
  exports: [Matching],
})
export class MatchingModule {}
