import { Controller, Get, Inject, Injectable } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type Identity,
  MemoryStore,
  type Policy,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
  RateLimitModule,
  RateLimitOverrides,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, left, type Platform, start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';

const MAIL: Policy = { name: 'mail', algorithm: 'token-bucket', capacity: 10, refill: '1/m', scope: 'app' };
const DAILY: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 15, window: '300d' };
const ADA: Identity = { kind: 'user', value: 'ada' };

@Injectable()
class Mailer {
  constructor(@Inject(RateLimiter) readonly limiter: RateLimiter) {}
}

@Controller()
class Routes {
  @Get()
  @RateLimit(MAIL)
  get(): void {}
}

function service(options: RateLimitModuleOptions, platform: Platform = 'Express'): Promise<HttpApp> {
  return start(platform, {
    imports: [
      RateLimitModule.forRoot({
        policies: { daily: DAILY },
        identity: FROM_HEADERS,
        ...options,
      }),
    ],
    controllers: [Routes],
    providers: [Mailer],
  });
}

const redis = useRedis();

describe.each(KINDS)('the limiter over $platform on $store', (kind) => {
  it('is injected, and consumes, peeks and resets by name and by policy', async () => {
    await using app = await service(storeOf(kind, redis), kind.platform);
    const { limiter } = app.app.get(Mailer);
    const first = await limiter.consume('daily', ADA, { cost: 4 });
    expect(first).toMatchObject({ allowed: true, decidedBy: 'store', retryAfterMs: 0, delayMs: 0 });
    expect(first.policies).toMatchObject([{ policy: 'daily', algorithm: 'fixed-window', limit: 15, remaining: 11 }]);
    expect(Math.abs(first.decidedAtMs - Date.now())).toBeLessThan(60_000);

    const both = await limiter.consume(['daily', MAIL], ADA, { cost: 10 });
    expect(both.policies.map(({ remaining }) => remaining)).toEqual([1, 0]);
    const rejected = await limiter.consume(['daily', MAIL], ADA);
    expect(rejected.allowed).toBe(false);
    expect(rejected.policies.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 1],
      [false, 0],
    ]);
    expect(rejected.retryAfterMs).toBeGreaterThan(0);
    expect(rejected.retryAfterMs).toBeLessThanOrEqual(60_000);

    expect((await limiter.peek(MAIL, ADA)).allowed).toBe(false);
    await limiter.reset(MAIL, ADA);
    expect((await limiter.peek(MAIL, ADA)).policies[0]!.remaining).toBe(10);
    expect((await limiter.peek('daily', ADA)).policies[0]!.remaining).toBe(1);
    await limiter.reset(['daily', MAIL], ADA);
    expect((await limiter.peek('daily', ADA)).policies[0]!.remaining).toBe(15);
  });

  it("shares the state of a route's policy with scope 'app' and the same name", async () => {
    await using app = await service(storeOf(kind, redis), kind.platform);
    const { limiter } = app.app.get(Mailer);
    expect(left(await app.as('ada', '/'))).toBe(9);
    expect((await limiter.consume(MAIL, ADA, { cost: 9 })).allowed).toBe(true);
    expect((await app.as('ada', '/')).status).toBe(429);
    expect((await app.as('bob', '/')).status).toBe(200);
    await limiter.reset(MAIL, ADA);
    expect(left(await app.as('ada', '/'))).toBe(9);
  });
});

it('counts the overrides, and the decisions of a full store on a state that its clients share', async () => {
  await using app = await service({ store: new MemoryStore({ maxKeys: 1 }) });
  const { limiter } = app.app.get(Mailer);
  for (const value of ['ada', 'bob', 'eve']) await limiter.consume('daily', { kind: 'user', value }, { cost: 4 });
  await app.app.get(RateLimitOverrides).set({ policy: 'daily', identity: ADA }, { limit: 20 });
  expect(limiter.stats()).toMatchObject({ memoryOverflows: 2, overrides: { count: 1, loaded: true } });
});
