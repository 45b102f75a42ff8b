import { Controller, Get, type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { apiKeyIdentity, ipIdentity, RateLimit, RateLimiter, RateLimitModule, userIdentity } from 'nestjs-floodgate';
import { serve } from '../../../support/processes/serve.js';
import { expiringIn } from '../support/budget.js';

/** A pod whose handlers never end. */
@Controller()
class Hanging {
  @Get('answer')
  @RateLimit('budget')
  answer(): Promise<never> {
    return new Promise(() => undefined);
  }

  @Get('over')
  @RateLimit('full')
  over(): Promise<never> {
    return new Promise(() => undefined);
  }
}

let app: INestApplication;

export const procedures = {
  async open({ redis, keyPrefix, expires }: { redis: string; keyPrefix: string; expires: number }): Promise<string> {
    const identity = [apiKeyIdentity(), userIdentity(), ipIdentity()];
    const limits = RateLimitModule.forRoot({
      redis,
      keyPrefix,
      identity,
      policies: expiringIn(expires),
      deadline: '5s',
    });
    @Module({ imports: [limits], controllers: [Hanging] })
    class AppModule {}
    app = await NestFactory.create(AppModule, { logger: ['error', 'fatal'] });
    await app.listen(0, '127.0.0.1');
    return app.getUrl();
  },

  /** Schedules a call that never ends, and returns once it runs. */
  async schedule(user: string): Promise<void> {
    await new Promise<void>((begun) => {
      void app.get(RateLimiter).schedule('budget', { kind: 'user', value: user }, async () => {
        begun();
        return new Promise(() => undefined);
      });
    });
  },
};

serve(procedures);
