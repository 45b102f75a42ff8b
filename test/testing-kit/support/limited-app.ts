import { Body, Controller, Get, HttpCode, Module, Post, UnauthorizedException } from '@nestjs/common';
import type { INestApplication, Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { type Policy, RateLimit, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { overrideRateLimitStore, VirtualClock } from 'nestjs-floodgate/testing';
import { adapterOf, FROM_HEADERS, type Platform } from '../../support/http-app.js';

const LIMITS: Readonly<Record<string, readonly [Policy, ...Policy[]]>> = {
  bucket: [{ name: 'bucket', algorithm: 'token-bucket', capacity: 20, refill: 10 }],
  thirds: [{ name: 'thirds', algorithm: 'token-bucket', capacity: 2, refill: 3 }],
  single: [{ name: 'single', algorithm: 'token-bucket', capacity: 1, refill: 3 }],
  dear: [{ name: 'dear', algorithm: 'token-bucket', capacity: 21, refill: 10, cost: 2 }],
  leaky: [{ name: 'leaky', algorithm: 'leaky-bucket', capacity: 3, drain: 10 }],
  window: [{ name: 'window', algorithm: 'fixed-window', limit: 5, window: '1m' }],
  log: [{ name: 'log', algorithm: 'sliding-window-log', limit: 5, window: '1m' }],
  inFlight: [{ name: 'in-flight', algorithm: 'concurrency', limit: 2, lease: '30s' }],
  counter: [{ name: 'counter', algorithm: 'sliding-window-counter', limit: 5, window: '1m' }],
  both: [
    { name: 'second', algorithm: 'fixed-window', limit: 3, window: '1s' },
    { name: 'day', algorithm: 'fixed-window', limit: 9, window: '24h' },
  ],
};

/** One route for each algorithm, and some that answer otherwise. */
@Controller()
export class Routes {
  @Get('free')
  free(): string {
    return 'ok';
  }

  @Post('login')
  @HttpCode(200)
  @RateLimit({ name: 'login', algorithm: 'fixed-window', limit: 5, window: '15m' })
  login(@Body() body: { readonly password?: string }): string {
    if (body.password !== 'right') throw new UnauthorizedException();
    return 'ok';
  }
}

for (const [name, policies] of Object.entries(LIMITS)) {
  const { [name]: value } = { [name]: (): string => 'ok' };
  const route: PropertyDescriptor = { value };
  Object.defineProperty(Routes.prototype, name, route);
  Get(name)(Routes.prototype, name, route);
  RateLimit(...policies)(Routes.prototype, name, route);
}

/** A root module as an application has it: its limits live in Redis. */
export function appModule(options: RateLimitModuleOptions, controllers: readonly Type[] = [Routes]): Type {
  @Module({ imports: [RateLimitModule.forRoot(options)], controllers: [...controllers] })
  class AppModule {}
  return AppModule;
}

/** Nothing listens there: an application that opened its Redis would say so. */
export const NO_REDIS = 'redis://127.0.0.1:1';

/** An application whose Redis the kit has overridden, not listening yet. */
export async function openApp(
  platform: Platform,
  options: RateLimitModuleOptions = {},
  controllers?: readonly Type[],
): Promise<{ app: INestApplication; clock: VirtualClock }> {
  const clock = new VirtualClock();
  const root = appModule({ redis: NO_REDIS, identity: FROM_HEADERS, ...options }, controllers);
  const builder = overrideRateLimitStore(Test.createTestingModule({ imports: [root] }), clock);
  const testingModule = await builder.compile();
  const app = testingModule.createNestApplication(adapterOf(platform), { logger: false });
  await app.init();
  return { app, clock };
}
