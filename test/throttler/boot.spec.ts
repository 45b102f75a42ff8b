import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { SkipThrottle, Throttle, type ThrottlerModuleOptions } from 'nestjs-floodgate/throttler';
import { start } from '../support/http-app.js';
import { methodOf, throttled, TWO } from './support/throttled.js';

describe('at boot, ThrottlerModule', () => {
  it.each<[string, object, RegExp]>([
    [
      'storage',
      { throttlers: [TWO], storage: { increment: async () => ({}) } },
      /^ThrottlerModule: storage: .*In place of ThrottlerStorageRedisService give redis/,
    ],
    [
      'an option of the engine that is wrong',
      { throttlers: [TWO], redis: 'localhost' },
      /^RateLimitModule: redis must be a redis:\/\//,
    ],
    ['throttlers that are no array', { throttlers: TWO }, /throttlers must be an array such as/],
    ['two of one name', [TWO, TWO], /throttlers\[1\]: two throttlers are named 'default'/],
    [
      'a name that no header can have',
      [{ ...TWO, name: 'per minute' }],
      /throttlers\[0\]: name 'per minute' cannot stand in the header X-RateLimit-Limit-per minute.*'per-minute'.*setHeaders: false/,
    ],
    ['a missing limit', [{ ttl: 1000 }], /throttlers\[0\]: limit is missing/],
    ['a ttl of 0', [{ limit: 1, ttl: 0 }], /throttlers\[0\]: ttl must be milliseconds from 1, got 0/],
    [
      'a misspelt option of a throttler',
      [{ ...TWO, blockduration: 1 }],
      /'blockduration' is not an option of a throttler/,
    ],
    [
      'a pattern that is text',
      { throttlers: [TWO], ignoreUserAgents: ['probe'] },
      /ignoreUserAgents must be an array of regular expressions/,
    ],
  ])('refuses %s at boot', async (_name, options, message) => {
    await expect(throttled(options as ThrottlerModuleOptions)).rejects.toMatchObject({
      name: 'RateLimitConfigError',
      message: expect.stringMatching(message),
    });
  });

  it('warns when no guard is bound, of a short ttl, and of names that no throttler has', async () => {
    @Controller()
    @SkipThrottle()
    class Vain {
      @Get('vain')
      @Throttle({ default: { limit: 1, ttl: 1000 } })
      vain(): void {}
    }
    await using app = await throttled([{ name: 'short', limit: 1, ttl: 60 }], [Vain], null);
    expect(app.logs.of('warn').filter((line) => !line.includes('each process'))).toEqual([
      expect.stringContaining(
        'ThrottlerModule, throttlers[0]: ttl is 60 milliseconds; for 60 seconds write seconds(60)',
      ),
      expect.stringContaining(
        `Vain, @SkipThrottle, 'default': has no effect, because no throttler has this name. The throttlers are 'short'`,
      ),
      expect.stringContaining(`Vain.vain, @Throttle, 'default': has no effect, because no throttler has this name`),
      expect.stringContaining('ThrottlerModule: no ThrottlerGuard is bound, so nothing is limited'),
    ]);
  });

  it('warns of decorators without the module', async () => {
    @Controller()
    class Alone {
      @Get('alone')
      @Throttle({ default: { limit: 1, ttl: 1000 } })
      alone(): void {}
    }
    await using app = await start('Express', { controllers: [Alone] });
    expect(app.logs.text).toContain('Alone.alone: @Throttle has no effect, because ThrottlerModule is not imported');
  });

  it('refuses decorators of @nestjs/throttler that were left', async () => {
    @Controller()
    class Left {
      @Get('left')
      left(): void {}
    }
    // What that package leaves: it was loaded beside Jest, with a Reflect of its own.
    Reflect.defineMetadata('THROTTLER:LIMITdefault', 1, methodOf(Left, 'left'));
    await expect(throttled([TWO], [Left])).rejects.toThrow(/^Left.left: has a decorator of @nestjs\/throttler/);
  });

  it('refuses a wrong decorator', async () => {
    expect(() => Throttle({ default: { limt: 1 } as object })(class Wrong {})).toThrow(
      /Wrong, @Throttle, 'default': 'limt' is not an option/,
    );
    expect(() => SkipThrottle({ default: 'yes' as never })(class Wrong {})).toThrow("must be true or false, got 'yes'");
    @Controller()
    class Wrong {
      @Get('wrong')
      @Throttle({ default: { limit: -1 } })
      wrong(): void {}
    }
    await expect(throttled([TWO], [Wrong])).rejects.toThrow(
      /^Wrong.wrong, @Throttle, 'default': limit must be a whole number/,
    );
  });
});
