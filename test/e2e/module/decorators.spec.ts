import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, type RateLimitModuleOptions, SkipRateLimit } from 'nestjs-floodgate';
import { limited, limitHeaders, PLATFORMS } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const ofCapacity = (capacity: number, name?: string): Policy => ({
  ...(name === undefined ? {} : { name }),
  algorithm: 'token-bucket',
  capacity,
  refill: '1/m',
});

@Controller('limited')
@RateLimit(ofCapacity(3))
class Limited {
  @Get('class')
  byClass(): void {}

  @Get('again')
  again(): void {}

  @Get('method')
  @RateLimit(ofCapacity(5))
  byMethod(): void {}

  @Get('skipped')
  @SkipRateLimit()
  skipped(): void {}

  @Get('named')
  @RateLimit('strict')
  named(): void {}

  @Get('mixed')
  @RateLimit('strict', ofCapacity(9, 'other'))
  mixed(): void {}
}

@Controller('skipped')
@SkipRateLimit()
class Skipped {
  @Get('class')
  byClass(): void {}

  @Get('method')
  @RateLimit(ofCapacity(4))
  byMethod(): void {}
}

@Controller('plain')
class Plain {
  @Get('a')
  a(): void {}

  @Get('b')
  b(): void {}
}

@Controller('heir')
class Heir extends Limited {}

const OPTIONS: RateLimitModuleOptions = {
  policies: { strict: ofCapacity(2), everywhere: ofCapacity(7) },
  defaults: ['everywhere', ofCapacity(8, 'inline')],
};

const CONTROLLERS: Type[] = [Limited, Skipped, Plain, Heir];

describe.each(PLATFORMS)('over %s, the policies of a route', (platform) => {
  it.each<[path: string, limit: number, why: string]>([
    ['/limited/class', 3, "the class's policy"],
    ['/limited/method', 5, "the method's own policy instead of the class's"],
    ['/limited/named', 2, 'a policy of the module, by its name'],
    ['/limited/mixed', 2, 'a policy by its name beside an inline policy'],
    ['/skipped/method', 4, 'the policy of a method in a skipped class'],
    ['/plain/a', 7, 'the defaults, without a decorator'],
    ['/heir/class', 3, 'the inherited class policy'],
    ['/heir/method', 5, "the inherited method's policy"],
  ])('let %s pass %d times: %s', async (path, limit) => {
    await using app = await limited(platform, CONTROLLERS, { ...OPTIONS, store: new StillStore() });
    for (let i = 0; i < limit; i++) {
      const { status, headers } = await app.send(path);
      expect([status, headers['x-ratelimit-limit']]).toEqual([200, String(limit)]);
    }
    expect((await app.send(path)).status).toBe(429);
  });

  it.each<[path: string, why: string]>([
    ['/limited/skipped', 'a skipped method has neither the policy of its class nor the defaults'],
    ['/skipped/class', 'a skipped class does not have the defaults'],
    ['/heir/skipped', 'an inherited method stays skipped'],
  ])('let %s always pass: %s', async (path) => {
    const store = new StillStore();
    await using app = await limited(platform, CONTROLLERS, { ...OPTIONS, store });
    expect(await app.crowd(12, path)).toEqual({ 200: 12 });
    expect(limitHeaders(await app.send(path))).toEqual([]);
    expect(store.asked).toEqual([]);
  });

  it('are all of the defaults, and each route counts them apart', async () => {
    const store = new StillStore();
    await using app = await limited(platform, CONTROLLERS, { ...OPTIONS, store });
    await app.crowd(7, '/plain/a');
    expect((await app.send('/plain/a')).status).toBe(429);
    expect((await app.send('/plain/b')).status).toBe(200);
    expect(store.asked.every((charges) => charges.length === 2)).toBe(true);
  });

  it('are none without decorators and defaults', async () => {
    const store = new StillStore();
    await using app = await limited(platform, Plain, { store });
    expect(await app.crowd(20, '/plain/a')).toEqual({ 200: 20 });
    expect(store.asked).toEqual([]);
  });

  it.each<Policy>([
    { algorithm: 'token-bucket', capacity: 3, refill: '1/h' },
    { algorithm: 'fixed-window', limit: 3, window: '1d' },
    { algorithm: 'sliding-window-log', limit: 3, window: '1d' },
    { algorithm: 'sliding-window-counter', limit: 3, window: 86_400_000 },
  ])('may have any algorithm: $algorithm', async (policy) => {
    @Controller()
    class One {
      @Get()
      @RateLimit(policy)
      get(): void {}
    }
    await using app = await limited(platform, One, { store: new StillStore() });
    expect(await app.crowd(6, '/')).toEqual({ 200: 3, 429: 3 });
  });
});
