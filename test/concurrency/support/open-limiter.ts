import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimiter, RateLimitModule, type RateLimitModuleOptions, type RateLimitStore } from 'nestjs-floodgate';
import { RateLimitRuntime } from '../../support/runtime.js';
import { withoutDeadline } from './without-deadline.js';

export interface OpenLimiter extends AsyncDisposable {
  readonly limiter: RateLimiter;
  readonly store: RateLimitStore;
}

/**
 * A limiter without HTTP, as in a queue consumer, on the Redis at `redis`. A failed decision throws. Redis decides every request
 * at its own instant: the denial cache is off.
 */
export async function openLimiter(
  redis: RateLimitModuleOptions['redis'],
  clock: NonNullable<RateLimitModuleOptions['clock']> = 'redis',
  policies: RateLimitModuleOptions['policies'] = {},
): Promise<OpenLimiter> {
  const module = RateLimitModule.forRoot({ redis, clock, onStoreFailure: 'closed', denialCache: 0, policies });
  const context: INestApplicationContext = await NestFactory.createApplicationContext(module, {
    logger: ['error', 'fatal'],
  });
  // Its polls of overrides would stand among the commands that tests count.
  const runtime = context.get(RateLimitRuntime);
  runtime.parts.overrides['calls']['watch'].stop();
  return {
    limiter: await withoutDeadline(context.get(RateLimiter)),
    store: runtime.parts.store,
    [Symbol.asyncDispose]: () => context.close(),
  };
}
