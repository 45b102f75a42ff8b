import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, type RateLimitModuleOptions, SkipRateLimit } from 'nestjs-floodgate';
import { limited, limitHeaders } from '../../support/http-app.js';
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
const OPTIONS: RateLimitModuleOptions = {
  policies: { strict: ofCapacity(2), everywhere: ofCapacity(7) },
  defaults: ['everywhere', ofCapacity(8, 'inline')],
};

const CONTROLLERS: Type[] = [Limited, Skipped, Plain];

describe('the policies of a route', () => {
  it.each<[path: string, limit: number, why: string]>([
    ['/limited/class', 3, "the class's policy"],
    ['/limited/method', 5, "the method's own policy instead of the class's"],
    ['/limited/named', 2, 'a policy of the module, by its name'],
    ['/limited/mixed', 2, 'a policy by its name beside an inline policy'],
    ['/skipped/method', 4, 'the policy of a method in a skipped class'],
    ['/plain/a', 7, 'the defaults, without a decorator'],
  ])('let %s pass %d times: %s', async (path, limit) => {
    await using app = await limited('Express', CONTROLLERS, { ...OPTIONS, store: new StillStore() });
    for (let i = 0; i < limit; i++) {
      const { status, headers } = await app.send(path);
      expect([status, headers['x-ratelimit-limit']]).toEqual([200, String(limit)]);
    }
    expect((await app.send(path)).status).toBe(429);
  });

  it.each<[path: string, why: string]>([
    ['/limited/skipped', 'a skipped method has neither the policy of its class nor the defaults'],
    ['/skipped/class', 'a skipped class does not have the defaults'],
  ])('let %s always pass: %s', async (path) => {
    const store = new StillStore();
    await using app = await limited('Express', CONTROLLERS, { ...OPTIONS, store });
    expect(await app.crowd(12, path)).toEqual({ 200: 12 });
    expect(limitHeaders(await app.send(path))).toEqual([]);
    expect(store.asked).toEqual([]);
  });
});
