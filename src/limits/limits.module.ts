import { type DynamicModule, Global, Module } from '@nestjs/common';
import { ConfigService } from '@nestjs/config';
import { DiscoveryModule } from '@nestjs/core';
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
import {
  ADMIN_TOKENS,
  adminTokensLimit,
  DAILY_SUMMARIES,
  dailySummaries,
  MATCHING_LIMIT,
  matchingLimit,
} from './policies.js';
import { mailQuota } from './quota-mails.js';
import { shedding } from './gives-way.js';
import { planFrom } from './rider-plan.js';
import { RiderZones, RiderZonesModule } from './rider-zones.js';
import { RouteTable } from './route-table.js';
import { Routes } from './routes.js';

/** The rate limits of the application. The routes name their policies with `@RateLimit`, from `policies.ts`. */
@Global()
@Module({
  imports: [DiscoveryModule],
  providers: [Routes, RouteTable],
  exports: [Routes],
})
export class LimitsModule {
  /** @param guard whether the library's guard stands before every route; without it no route is limited */
  static forRoot({ guard }: { readonly guard: boolean }): DynamicModule {
    return {
      module: LimitsModule,
      imports: [
        RateLimitModule.forRootAsync({
          imports: [AccountsModule, RiderZonesModule],
          inject: [ConfigService, RiderAccounts, RiderZones],
          useFactory: rateLimitOptions,
          guard,
        }),
      ],
    };
  }
}

function rateLimitOptions(
  config: ConfigService<Configuration, true>,
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
    onThreshold: mailQuota,
    ...(enabled && config.get('shedsLoad', { infer: true }) && { shed: shedding }),
  };
}
