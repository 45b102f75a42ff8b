import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Controller, Get, Module, Query } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { serve } from '../../support/processes/serve.js';

/** The phase of the event loop in which a handler computes. */
export type Phase = 'at once' | 'tick' | 'immediate' | 'timer';

const DEADLINE_MS = 250;

function compute(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

function computeIn(phase: Phase, ms: number): void {
  if (phase === 'at once') compute(ms);
  else if (phase === 'tick') process.nextTick(compute, ms);
  else if (phase === 'immediate') setImmediate(compute, ms);
  else setTimeout(compute, 1, ms);
}

@Controller()
class Routes {
  @Get('limited')
  @RateLimit({
    algorithm: 'token-bucket',
    capacity: 10,
    refill: '1/h',
    by: ({ headers }) => ({ kind: 'lane', value: headers['x-lane'] as string }),
  })
  limited(@Query('phase') phase: Phase, @Query('ms') ms: string): void {
    computeIn(phase, Number(ms));
  }

  @Get('free')
  free(@Query('phase') phase: Phase, @Query('ms') ms: string): void {
    computeIn(phase, Number(ms));
  }

  @Get('burst')
  @RateLimit({ name: 'burst', algorithm: 'token-bucket', capacity: 3_000, refill: '1/h', by: 'global' })
  burst(): void {}
}

const procedures = {
  /** Starts an application with Redis and the default deadline, and returns its port. */
  async start(redis: string): Promise<number> {
    const imports = [RateLimitModule.forRoot({ redis, deadline: DEADLINE_MS, denialCache: 0 })];
    @Module({ imports, controllers: [Routes] })
    class Root {}
    const app = await NestFactory.create(Root, new ExpressAdapter(), { logger: ['error', 'fatal'] });
    // Node closes a connection that has been idle for 5 s, and the next request may be on its way by then.
    (app.getHttpServer() as Server).keepAliveTimeout = 600_000;
    await app.listen(0, '127.0.0.1');
    const warm = { name: 'warm', algorithm: 'token-bucket', capacity: 1, refill: 1 } as const;
    for (let i = 0; i < 50; i++) await app.get(RateLimiter).consume(warm, { kind: 'user', value: `${i}` });
    return (app.getHttpServer().address() as AddressInfo).port;
  },
};

export type Busy = typeof procedures;

serve(procedures);
