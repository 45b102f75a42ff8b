import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, type RateLimitModuleOptions, SkipRateLimit } from 'nestjs-floodgate';
import { type HttpApp, limited } from '../../support/http-app.js';

const window = (name: string, limit: number): Policy => ({ name, algorithm: 'fixed-window', limit, window: '300d' });
const OPTIONS: RateLimitModuleOptions = {
  policies: { burst: window('burst', 5) },
  defaults: ['burst', window('daily', 8)],
};

@Controller('kept')
class Kept {
  @Get('plain')
  plain(): void {}

  @Get('replaced')
  @RateLimit(window('own', 9))
  replaced(): void {}

  @Get('meant')
  @RateLimit(window('own', 9), { defaults: 'replace' })
  meant(): void {}

  @Get('kept')
  @RateLimit(window('own', 9), { defaults: 'keep' })
  kept(): void {}

  @Get('named')
  @RateLimit(window('burst', 2), { defaults: 'keep' })
  named(): void {}

  @Get('skips')
  @SkipRateLimit('burst')
  skips(): void {}

  @Get('both')
  @SkipRateLimit('burst')
  @RateLimit(window('own', 9), { defaults: 'keep' })
  both(): void {}

  @Get('none')
  @SkipRateLimit('burst', 'daily')
  none(): void {}

  @Get('mixed')
  @RateLimit('burst', window('own', 9))
  mixed(): void {}
}

@Controller('classes')
@RateLimit(window('shared', 7), { defaults: 'keep' })
@SkipRateLimit('daily')
class Classes {
  @Get('shared')
  shared(): void {}

  @Get('less')
  @SkipRateLimit('shared')
  less(): void {}

  @Get('own')
  @RateLimit(window('own', 9), { defaults: 'keep' })
  own(): void {}

  @Get('replaced')
  @RateLimit(window('own', 9))
  replaced(): void {}

  @Get('skipped')
  @SkipRateLimit()
  skipped(): void {}
}

@Controller('skipped')
@SkipRateLimit()
class Skipped {
  @Get('class')
  byClass(): void {}

  @Get('own')
  @RateLimit(window('own', 9))
  own(): void {}
}

/** The names of a handler's policies with their scopes, as `RateLimiter.table` shows them. */
function table(app: HttpApp): Record<string, readonly [origin: string, ...policies: string[]]> {
  const { routes } = app.app.get(RateLimiter).table();
  return Object.fromEntries(
    routes.map(({ route, origin, policies }) => [
      route.replace('GET /', ''),
      [
        origin,
        ...policies.map(({ name, scope, numbers }) => `${name} ${(numbers as { limit: number }).limit} @ ${scope}`),
      ],
    ]),
  );
}

describe("the module's defaults", () => {
  const begin = (controllers: Type | Type[], options: RateLimitModuleOptions = OPTIONS): Promise<HttpApp> =>
    limited('Express', controllers, options);

  it('are in the table with their own scope, and in an explanation', async () => {
    await using app = await begin([Kept, Classes, Skipped]);
    expect(table(app)).toEqual({
      'kept/plain': ['defaults', 'burst 5 @ GET /kept/plain', 'daily 8 @ GET /kept/plain'],
      'kept/replaced': ['method', 'own 9 @ GET /kept/replaced'],
      'kept/meant': ['method', 'own 9 @ GET /kept/meant'],
      'kept/kept': ['method', 'burst 5 @ GET /kept/kept', 'daily 8 @ GET /kept/kept', 'own 9 @ GET /kept/kept'],
      'kept/named': ['method', 'daily 8 @ GET /kept/named', 'burst 2 @ GET /kept/named'],
      'kept/skips': ['defaults', 'daily 8 @ GET /kept/skips'],
      'kept/both': ['method', 'daily 8 @ GET /kept/both', 'own 9 @ GET /kept/both'],
      'kept/none': ['skipped'],
      'kept/mixed': ['method', 'burst 5 @ GET /kept/mixed', 'own 9 @ GET /kept/mixed'],
      'classes/shared': ['class', 'burst 5 @ GET /classes/shared', 'shared 7 @ Classes /classes'],
      'classes/less': ['class', 'burst 5 @ GET /classes/less'],
      'classes/own': ['method', 'burst 5 @ GET /classes/own', 'own 9 @ GET /classes/own'],
      'classes/replaced': ['method', 'own 9 @ GET /classes/replaced'],
      'classes/skipped': ['skipped'],
      'skipped/class': ['skipped'],
      'skipped/own': ['method', 'own 9 @ GET /skipped/own'],
    });
    const { policies } = await app.app.get(RateLimiter).explain('GET /kept/both', { kind: 'ip', value: '127.0.0.1' });
    expect(policies.map(({ policy }) => policy)).toEqual(['daily', 'own']);
  });

  it('are said at boot where policies replace them without a word', async () => {
    await using app = await begin([Kept, Classes]);
    const lines = app.logs.of('log').filter((line) => line.startsWith("The module's defaults"));
    expect(lines.map((line) => line.replace(/ RateLimit$/, ''))).toEqual([
      "The module's defaults ('burst', 'daily') do not limit Kept.replaced, Kept.mixed, Classes.replaced: policies of their own replace them. " +
        "@RateLimit(..., { defaults: 'keep' }) keeps them; { defaults: 'replace' } says that this is meant",
    ]);
  });

  describe('a wrong decorator stops the boot', () => {
    const boot = (controller: Type, options = OPTIONS): Promise<unknown> =>
      limited('Express', controller, options).then(
        async (app) => app.close(),
        (error: Error) => error.message.replace(/ \(see .*$/, ''),
      );

    it('for a name that stands nowhere there, with a suggestion', async () => {
      @Controller()
      class Misspelt {
        @Get()
        @SkipRateLimit('brust')
        list(): void {}
      }
      expect(await boot(Misspelt)).toBe(
        "Misspelt.list, @SkipRateLimit('brust'): no policy named 'brust' stands there. Did you mean 'burst'? Those that do are " +
          "'burst', 'daily'",
      );
      @Controller()
      @SkipRateLimit('daily', 'hourly')
      class OnClass {
        @Get()
        list(): void {}
      }
      expect(await boot(OnClass)).toMatch(
        /^OnClass, @SkipRateLimit\('daily', 'hourly'\): no policy named 'hourly' stands there\./,
      );
      expect(await boot(OnClass, {})).toMatch(/no policy named 'daily' stands there\. Those that do are none$/);
    });
  });
});

describe('a default of the whole application', () => {
  const CAP: Policy = { ...window('cap', 9), scope: 'app' };

  @Controller('routes')
  class Routes {
    @Get('own')
    @RateLimit(window('own', 9))
    own(): void {}

    @Get('meant')
    @RateLimit(window('own', 9), { defaults: 'replace' })
    meant(): void {}
  }

  it.each<[string, RateLimitModuleOptions]>([
    ['inline', { defaults: [window('burst', 5), CAP] }],
    ['by name', { defaults: [window('burst', 5), 'cap'], policies: { cap: { ...CAP } } }],
  ])('that a decorator drops without a word is a warning, %s', async (_, options) => {
    await using app = await limited('Express', Routes, options);
    expect(app.logs.of('warn')).toEqual([
      expect.stringContaining("The module's defaults ('cap') do not limit Routes.own:"),
    ]);
    expect(app.logs.of('log').filter((text) => text.includes("('burst') do not limit Routes.own:"))).toHaveLength(1);
  });
});
