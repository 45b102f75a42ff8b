import { Controller, Get } from '@nestjs/common';
import {
  type PlanOptions,
  type Policy,
  RateLimit,
  type RateLimitModuleOptions,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, type Platform } from '../../support/http-app.js';

export const API: Policy = {
  name: 'api',
  algorithm: 'token-bucket',
  capacity: 2,
  refill: '1/h',
  by: 'user',
  plans: { pro: { capacity: 5 }, enterprise: { capacity: 9, refill: '2/h' } },
};

const DAILY = {
  name: 'daily',
  algorithm: 'fixed-window',
  limit: 3,
  window: '300d',
  by: 'user',
  plans: { pro: { limit: 6 } },
} as const satisfies Policy;

export const PLAIN: Policy = { name: 'plain', algorithm: 'fixed-window', limit: 4, window: '300d', by: 'user' };

export const LIMITS: Readonly<Record<string, number>> = { free: 2, pro: 5, enterprise: 9 };

@Controller()
export class Routes {
  @Get('api')
  @RateLimit(API)
  api(): void {}

  @Get('daily')
  @RateLimit(DAILY)
  daily(): void {}
}

/** The request's user, whose name says the plan: `pro-1`. */
export type HeaderRequest = RateLimitRequest<{ headers: Record<string, string> }>;

export function userOf({ headers }: HeaderRequest): string {
  return headers['x-user-id'] ?? '';
}

export const planOf = (request: HeaderRequest): string => userOf(request).split('-')[0]!;

export const user = (value: string) => ({ kind: 'user', value });

export function app(
  platform: Platform,
  options: RateLimitModuleOptions,
  plan: Partial<PlanOptions> = {},
): Promise<HttpApp> {
  return limited(platform, Routes, { identity: FROM_HEADERS, ...options, plan: { resolve: planOf, ...plan } });
}

/** How many of 12 requests at once pass. */
export async function passing(http: HttpApp, name: string, path = '/api'): Promise<number | undefined> {
  return (await http.crowd(12, path, { headers: { 'X-User-Id': name } }))[200];
}

/** The limit that the headers say. */
export async function limitOf(http: HttpApp, name: string, path = '/api'): Promise<number> {
  return Number((await http.as(name, path)).headers['x-ratelimit-limit']);
}
