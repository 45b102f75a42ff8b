import { type DynamicModule, Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { apiKeyIdentity, ipIdentity, RateLimitModule, userIdentity } from 'nestjs-floodgate';
import type { Configuration } from '../config/configuration.js';
import { Enforcement } from './enforcement.js';
import { EnforcementGuard } from './enforcement.guard.js';
import { MATCHING_LIMIT, matchingLimit } from './matching-limit.js';
import { RouteTraffic } from './route-traffic.js';

/** The rate limits of the application, and who watches or switches them. */
@Module({})
export class LimitsModule {
  static forRoot(configuration: Configuration): DynamicModule {
    const { redisUrl, pods, rateLimit } = configuration;
    const traffic = new RouteTraffic();
    return {
      module: LimitsModule,
      global: true,
      imports: [
        RateLimitModule.forRoot({
          // Without enforcement there is nothing to ask Redis for.
          redis: rateLimit === 'off' ? undefined : redisUrl,
          guard: false, // but the one below
          // The gateway before the application sets or removes these headers: see deploy/README.md.
          identity: [apiKeyIdentity(), userIdentity(), ipIdentity()],
          localShare: pods,
          policies: { [MATCHING_LIMIT]: matchingLimit(configuration) },
          onDecision: traffic.decided,
        }),
      ],
      providers: [
        Enforcement,
        { provide: RouteTraffic, useValue: traffic },
        EnforcementGuard,
        { provide: APP_GUARD, useExisting: EnforcementGuard },
      ],
      exports: [Enforcement, RouteTraffic],
    };
  }
}
