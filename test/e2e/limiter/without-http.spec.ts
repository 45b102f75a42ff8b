import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { expect, it } from '@jest/globals';
import { RateLimiter, RateLimitModule } from 'nestjs-floodgate';

@Module({ imports: [RateLimitModule.forRoot()] })
class Jobs {}

it('setHeaders answers false in an application without HTTP, and says what is no response', async () => {
  const app = await NestFactory.createApplicationContext(Jobs, { logger: false });
  try {
    const limiter = app.get(RateLimiter);
    const decision = await limiter.consume({
      name: 'all',
      algorithm: 'fixed-window',
      limit: 1,
      window: '1d',
      by: 'global',
    });
    expect(limiter.setHeaders({ setHeader: (): void => undefined }, decision)).toBe(false);
    expect(() => limiter.setHeaders({}, decision)).toThrow('RateLimiter.setHeaders: takes the response');
  } finally {
    await app.close();
  }
});
