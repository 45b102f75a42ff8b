import { Controller, Get, Post } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, SkipRateLimit } from 'nestjs-floodgate';
import { FROM_HEADERS, limited } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const ONE = { algorithm: 'fixed-window', limit: 1, window: '300d' } as const;
const ADA = { kind: 'user', value: 'ada' };

@Controller('rides')
class Rides {
  @Post()
  @RateLimit('login')
  request(): void {}

  @Get()
  @RateLimit('login', { ...ONE, name: 'app', scope: 'app' })
  list(): void {}

  @Get('chosen')
  @RateLimit(() => 'login')
  chosen(): void {}

  @Get('skipped')
  @SkipRateLimit()
  skipped(): void {}
}

@Controller('shared')
@RateLimit('login')
class Shared {
  @Get()
  get(): void {}
}

const policies: Record<string, Policy> = { login: ONE };

describe('a reset of RateLimiter', () => {
  const open = () => limited('Express', [Rides, Shared], { store: new StillStore(), policies, identity: FROM_HEADERS });

  it('clears the states of a policy name on every route, and returns them', async () => {
    await using app = await open();
    const limiter = app.app.get(RateLimiter);
    const take = async (): Promise<number[]> => [
      (await app.as('ada', '/rides', { method: 'POST' })).status,
      (await app.as('ada', '/rides')).status,
      (await app.as('ada', '/shared')).status,
      Number((await limiter.consume('login', ADA)).allowed),
    ];
    expect(await take()).toEqual([201, 200, 200, 1]);
    expect(await take()).toEqual([429, 429, 429, 0]);
    const cleared = await limiter.reset('login', ADA);
    expect(cleared.map(({ policy, scope }) => `${policy} ${scope}`).toSorted()).toEqual([
      'login GET /rides',
      'login POST /rides',
      'login Shared /shared',
      'login app',
    ]);
    // The list of rides has a second policy. Its state stays.
    expect(await take()).toEqual([201, 429, 200, 1]);
  });

  it('of a route clears the states of its policies, and no others', async () => {
    await using app = await open();
    const limiter = app.app.get(RateLimiter);
    for (const method of ['POST', 'GET']) await app.as('ada', '/rides', { method });
    expect(await limiter.reset([Rides, 'list'], ADA)).toEqual([
      { policy: 'login', scope: 'GET /rides' },
      { policy: 'app', scope: 'app' },
    ]);
    expect((await app.as('ada', '/rides')).status).toBe(200);
    expect((await app.as('ada', '/rides', { method: 'POST' })).status).toBe(429);
  });
});
