import { Controller, Get, Inject, Injectable, type MiddlewareConsumer, Module } from '@nestjs/common';
import { ExternalContextCreator } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import {
  LimiterUnavailableError,
  type RateLimitStore,
  RateLimiter,
  RateLimitExceededException,
  RateLimitModule,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { PLATFORMS, start } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const MAILS = { algorithm: 'token-bucket', capacity: 1, refill: '1/m' } as const;
const ADA = { kind: 'user', value: 'ada' };

@Injectable()
class Mails {
  constructor(@Inject(RateLimiter) private readonly limiter: RateLimiter) {}

  async send(): Promise<string> {
    const decision = await this.limiter.consume('mails', ADA);
    if (!decision.allowed) throw new RateLimitExceededException(decision);
    return 'sent';
  }
}

@Controller()
class Routes {
  constructor(@Inject(Mails) private readonly mails: Mails) {}

  @Get('mails')
  @SkipRateLimit()
  send(): Promise<string> {
    return this.mails.send();
  }
}

@Module({})
class BeforeRoutes {
  constructor(@Inject(RateLimiter) private readonly limiter: RateLimiter) {}

  configure(consumer: MiddlewareConsumer): void {
    const limit = async (_request: unknown, _response: unknown, next: () => void): Promise<void> => {
      const decision = await this.limiter.consume('mails', ADA);
      if (!decision.allowed) throw new RateLimitExceededException(decision);
      next();
    };
    consumer.apply(limit).forRoutes('mails');
  }
}

const BROKEN: RateLimitStore = {
  consume: () => {
    throw new Error('gone');
  },
  reset: () => undefined,
};

describe.each(PLATFORMS)('in an application over %s', (platform) => {
  it.each(['rpc', 'job'])('an exception that no context answers reaches its caller unchanged: %s', async (type) => {
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot({ store: new StillStore(), policies: { mails: MAILS } })],
      providers: [Mails],
    });
    const mails = app.app.get(Mails);
    const none = undefined;
    const contexts = app.app.get(ExternalContextCreator);
    const call = contexts.create(mails, () => mails.send(), 'send', none, none, none, none, none, type);
    expect(await call({}, {})).toBe('sent');
    await expect(call({}, {})).rejects.toThrow(RateLimitExceededException);
  });

  it('a middleware of Nest throws it with the same headers', async () => {
    const module = RateLimitModule.forRoot({ store: new StillStore(), policies: { mails: { ...MAILS, capacity: 3 } } });
    await using app = await start(platform, {
      imports: [module, BeforeRoutes],
      controllers: [Routes],
      providers: [Mails],
    });
    expect((await app.send('/mails')).status).toBe(200);
    await app.send('/mails');
    const { status, headers } = await app.send('/mails');
    expect([status, headers['retry-after'], headers['x-ratelimit-limit']]).toEqual([429, '60', '3']);
  });

  it("a limiter that cannot decide is a 503 with Retry-After, as the guard's is", async () => {
    const module = RateLimitModule.forRoot({ store: BROKEN, policies: { mails: MAILS }, onStoreFailure: 'closed' });
    await using app = await start(platform, { imports: [module], controllers: [Routes], providers: [Mails] });
    const { status, headers, body } = await app.send('/mails');
    expect([status, headers['retry-after']]).toEqual([503, '1']);
    expect(body).toMatchObject({ error: 'rate_limit_unavailable', retry_after: 1 });
    expect(app.logs.of('error')).toEqual([]);
    await expect(app.app.get(Mails).send()).rejects.toThrow(LimiterUnavailableError);
  });
});
