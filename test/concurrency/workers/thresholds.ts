import { Controller, type DynamicModule, Get, type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimit, RateLimiter, RateLimitModule, type ThresholdEvent, userIdentity } from 'nestjs-floodgate';
import { serve } from '../../support/processes/serve.js';
import { type AssembledRuntime, RateLimitRuntime } from '../../support/runtime.js';
import { withoutDeadline } from '../support/without-deadline.js';

const LEVELS = [0.25, 0.5, 0.8, 1];

@Controller()
class Routes {
  @Get()
  @RateLimit(
    { name: 'monthly', algorithm: 'fixed-window', limit: 40, window: '300d', by: 'user', thresholds: LEVELS },
    { name: 'bucket', algorithm: 'token-bucket', capacity: 60, refill: '1/h', by: 'user', thresholds: [0.5] },
  )
  get(): void {}
}

const told: ThresholdEvent[] = [];

@Module({})
class Pod {
  static on(redis: string): DynamicModule {
    const onThreshold = (event: ThresholdEvent): void => void told.push(event);
    return {
      module: Pod,
      imports: [
        RateLimitModule.forRoot({
          redis,
          identity: [userIdentity()],
          onStoreFailure: 'closed',
          deadline: 1000,
          onThreshold,
        }),
      ],
      controllers: [Routes],
    };
  }
}

let app: INestApplication | undefined;

export const procedures = {
  async open(redis: string): Promise<string> {
    app = await NestFactory.create(Pod.on(redis), { logger: ['error', 'fatal'] });
    await app.listen(0, '127.0.0.1');
    await withoutDeadline(app.get(RateLimiter));
    return app.getUrl();
  },

  /** The events of this process, once all are told. */
  async told(): Promise<ThresholdEvent[]> {
    await app!.get<AssembledRuntime>(RateLimitRuntime)['fallback'].thresholds!.close();
    return told.splice(0);
  },

  /** Sends reservations that are cancelled, and others that are settled at more. */
  async settle(user: string): Promise<void> {
    const limiter = app!.get(RateLimiter);
    const quota = {
      name: 'tokens',
      algorithm: 'fixed-window',
      limit: 100,
      window: '300d',
      thresholds: LEVELS,
    } as const;
    const who = { kind: 'user', value: user };
    for (let i = 0; i < 20; i++) {
      const [cancelled, more] = await Promise.all([
        limiter.reserve(quota, who, { cost: 3 }),
        limiter.reserve(quota, who, { cost: 1 }),
      ]);
      if (cancelled.allowed) await cancelled.cancel();
      if (more.allowed) await more.settle(2);
    }
  },
};

serve(procedures);
