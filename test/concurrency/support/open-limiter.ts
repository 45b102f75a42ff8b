import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimiter, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { patient } from './patient.js';

export interface OpenLimiter extends AsyncDisposable {
  readonly limiter: RateLimiter;
}

/**
 * A limiter without HTTP, as a queue consumer has it, on the Redis at `redis`. A decision that fails throws, and each one is
 * Redis's own, at its instant.
 */
export async function openLimiter(
  redis: string,
  clock: NonNullable<RateLimitModuleOptions['clock']> = 'redis',
): Promise<OpenLimiter> {
  const module = RateLimitModule.forRoot({ redis, clock, onStoreFailure: 'closed', denialCacheMs: 0 });
  const context: INestApplicationContext = await NestFactory.createApplicationContext(module, {
    logger: ['error', 'fatal'],
  });
  return {
    limiter: await patient(context.get(RateLimiter)),
    [Symbol.asyncDispose]: () => context.close(),
  };
}
