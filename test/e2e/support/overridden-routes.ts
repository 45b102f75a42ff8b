import { Controller, Get } from '@nestjs/common';
import { type Identity, type Policy, RateLimit, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, type Platform } from '../../support/http-app.js';

const API: Policy = { name: 'api', algorithm: 'token-bucket', capacity: 3, refill: '1/h' };
const DAILY: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 3, window: '300d' };
const ALL: Policy = { name: 'all', algorithm: 'token-bucket', capacity: 1000, refill: '1/h', by: 'global' };

export const ADA: Identity = { kind: 'user', value: 'ada' };

export const BOB: Identity = { kind: 'user', value: 'bob' };

@Controller()
export class Routes {
  @Get('bucket')
  @RateLimit(API)
  bucket(): string {
    return 'ok';
  }

  @Get('window')
  @RateLimit(DAILY)
  window(): string {
    return 'ok';
  }

  @Get('both')
  @RateLimit({ ...API, name: 'one' }, { ...DAILY, name: 'two' })
  both(): string {
    return 'ok';
  }

  @Get('all')
  @RateLimit(ALL)
  all(): string {
    return 'ok';
  }
}

export function serviceOf(platform: Platform, options: RateLimitModuleOptions): Promise<HttpApp> {
  return limited(platform, Routes, {
    identity: FROM_HEADERS,
    policies: { coded: { ...API, name: 'coded' } },
    ...options,
  });
}
