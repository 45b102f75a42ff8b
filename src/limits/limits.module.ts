import { Global, Module } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { APP_GUARD, DiscoveryModule } from '@nestjs/core';
import {
  apiKeyIdentity,
  ipIdentity,
  RateLimitModule,
  type RateLimitModuleOptions,
  userIdentity,
} from 'nestjs-floodgate';
import { AccountsModule } from '../accounts/accounts.module.js';
import { RiderAccounts } from '../accounts/rider-accounts.js';
import type { Configuration } from '../config/configuration.js';
import { Enforcement } from './enforcement.js';
import { EnforcementGuard } from './enforcement.guard.js';
import {
  ADMIN_TOKENS,
  adminTokensLimit,
  DAILY_SUMMARIES,
  dailySummaries,
  MATCHING_LIMIT,
  matchingLimit,
} from './policies.js';
import { planFrom } from './rider-plan.js';
import { RiderZones, RiderZonesModule } from './rider-zones.js';
import { RouteTable } from './route-table.js';
import { RouteTraffic, RouteTrafficModule } from './route-traffic.js';
import { Routes } from './routes.js';

/** The rate limits of the application. The routes name their policies with `@RateLimit`, from `policies.ts`. */
@Global()
@Module({
  imports: [
    DiscoveryModule,
    RouteTrafficModule,
    RateLimitModule.forRootAsync({
      imports: [RouteTrafficModule, AccountsModule, RiderZonesModule],
      inject: [ConfigService, RouteTraffic, RiderAccounts, RiderZones],
      useFactory: rateLimitOptions,
      // By default the module binds its guard to every route. This application binds a subclass of it, with a switch.
      guard: false,
    }),
  ],
  providers: [EnforcementGuard, { provide: APP_GUARD, useExisting: EnforcementGuard }, Enforcement, Routes, RouteTable],
  exports: [Enforcement, Routes, RouteTrafficModule],
})
export class LimitsModule {}

function rateLimitOptions(
  config: ConfigService<Configuration, true>,
  traffic: RouteTraffic,
  accounts: RiderAccounts,
  zones: RiderZones,
): RateLimitModuleOptions {
  const enabled = config.get('rateLimit', { infer: true }) !== 'off';
  return {
    // Without a URL the limits are kept in this process. A disabled limiter needs no Redis.
    redis: enabled ? config.get('redisUrl', { infer: true }) : undefined,
    // The gateway in front of the application sets or removes these headers: see deploy/README.md.
    identity: [apiKeyIdentity(), userIdentity(), ipIdentity()],
    localShare: config.get('pods', { infer: true }),
    policies: {
      [MATCHING_LIMIT]: matchingLimit(config),
      [DAILY_SUMMARIES]: dailySummaries(zones.of),
      [ADMIN_TOKENS]: adminTokensLimit,
    },
    // Without a fallback: riders whose plan is not known have the policies' own numbers, those of the plan `free`.
    plan: { resolve: planFrom(accounts), cacheFor: '30s' },
    onDecision: traffic.decided,
  };
}
