import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, SkipRateLimit } from 'nestjs-floodgate';
import { seconds, SkipThrottle, Throttle } from 'nestjs-floodgate/throttler';
import { limited, type HttpApp } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { throttled } from '../throttler/support/throttled.js';

const LOOSE: Policy = { name: 'loose', algorithm: 'fixed-window', limit: 3, window: '300d' };
const TIGHT: Policy = { name: 'tight', algorithm: 'fixed-window', limit: 1, window: '300d' };

/** Puts another function into a method's place, without its metadata, as `@Transactional()` of MikroORM and cockatiel's `usePolicy` do. */
function Wrapped(): MethodDecorator {
  return (_target, _property, descriptor: PropertyDescriptor) => {
    const method = descriptor.value as (...args: unknown[]) => unknown;
    descriptor.value = function (this: unknown, ...args: unknown[]): unknown {
      return method.apply(this, args);
    };
  };
}

@Controller()
class Base {
  @Get('inherited')
  @Wrapped()
  @RateLimit(TIGHT)
  inherited(): void {}

  @Get('overridden')
  @RateLimit(TIGHT)
  overridden(): void {}
}

@Controller()
class Routes extends Base {
  @Get('limited')
  @Wrapped()
  @Wrapped()
  @RateLimit(TIGHT)
  limited(): void {}

  @Get('skipped')
  @Wrapped()
  @SkipRateLimit()
  skipped(): void {}

  @Get('kept')
  @Wrapped()
  @SkipRateLimit('loose')
  @RateLimit(TIGHT, { defaults: 'keep' })
  kept(): void {}

  @Get('overridden')
  override overridden(): void {}
}

@Controller()
class Throttled {
  @Get('limited')
  @Wrapped()
  @Throttle({ default: { limit: 1 } })
  limited(): void {}

  @Get('skipped')
  @Wrapped()
  @SkipThrottle()
  skipped(): void {}
}

async function passed(app: HttpApp, path: string): Promise<number> {
  return (await app.crowd(5, path))[200] ?? 0;
}

describe('under a decorator that wraps the method', () => {
  it('@RateLimit and @SkipRateLimit hold, and an overriding method inherits none', async () => {
    await using app = await limited('Express', Routes, { store: new StillStore(), defaults: [LOOSE] });
    const paths = ['/limited', '/skipped', '/kept', '/inherited', '/overridden'];
    expect(await Promise.all(paths.map((path) => passed(app, path)))).toEqual([1, 5, 1, 1, 3]);
  });

  it('@Throttle and @SkipThrottle hold', async () => {
    await using app = await throttled([{ limit: 3, ttl: seconds(600) }], [Throttled]);
    expect([await passed(app, '/limited'), await passed(app, '/skipped')]).toEqual([1, 5]);
  });

  it('a second @RateLimit stops the class', () => {
    expect(() => {
      class Twice {
        @RateLimit(LOOSE)
        @Wrapped()
        @RateLimit(TIGHT)
        get(): void {}
      }
      return Twice;
    }).toThrow('Twice.get: @RateLimit stands beside another rate limit decorator');
  });
});
