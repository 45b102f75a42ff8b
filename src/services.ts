import { AppModule } from './app.module.js';
import { MatchingServiceModule } from './matching/service/matching-service.module.js';
import type { Service } from './serve.js';

/** What runs as a process of its own. */
export const RIDE_HAILING: Service = {
  name: 'RideHailing',
  module: (configuration) => AppModule.forRoot(configuration),
  port: ({ port }) => port,
};

export const MATCHING: Service = {
  name: 'MatchingService',
  module: (configuration) => MatchingServiceModule.forRoot(configuration),
  port: ({ matching }) => matching.port,
};
