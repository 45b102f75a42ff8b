import { Controller, type DynamicModule, Get, type INestApplication, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimit, RateLimiter, RateLimitModule, type RateLimitRequest, userIdentity } from 'nestjs-floodgate';
import { serve } from '../../support/processes/serve.js';
import { withoutDeadline } from '../support/without-deadline.js';

@Controller()
class Routes {
  @Get()
  @RateLimit({
    name: 'api',
    algorithm: 'fixed-window',
    limit: 2,
    window: '300d',
    by: 'user',
    plans: { pro: { limit: 10 }, enterprise: { limit: 25 } },
  })
  get(): void {}
}

/** The plans of users, as this process's database has them. */
let plans = new Map<string, string>();
let hangs = false;

async function resolve({
  headers,
}: RateLimitRequest<{ headers: Record<string, string> }>): Promise<string | undefined> {
  if (hangs) await new Promise(() => undefined);
  return plans.get(headers['x-user-id']!);
}

@Module({})
class Pod {
  static on(redis: string): DynamicModule {
    return {
      module: Pod,
      imports: [
        RateLimitModule.forRoot({
          redis,
          identity: [userIdentity()],
          onStoreFailure: 'closed',
          deadline: 1000,
          plan: { resolve, cacheFor: '200ms' },
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

  /** What the database has from now on; undefined: it hangs. */
  have(given: Record<string, string> | undefined): void {
    hangs = given === undefined;
    plans = new Map(Object.entries(given ?? {}));
  },
};

serve(procedures);
