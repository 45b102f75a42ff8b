import { Controller, Get, type Type } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { describe, expect, it, jest } from '@jest/globals';
import {
  documentRateLimits,
  type Policy,
  type PolicyFunction,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitRequest,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { startGraphql } from '../../contexts/support/graphql-app.js';
import { type HttpApp, limited, PLATFORMS, start } from '../../support/http-app.js';

jest.setTimeout(30_000); // applications boot and answer in real time, and the machine may be busy

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
}

@Controller('heirs')
class Heirs extends Classes {}

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

async function passes(app: HttpApp, path: string): Promise<number> {
  return (await app.crowd(12, path))[200] ?? 0;
}

describe.each(PLATFORMS)("over %s, the module's defaults", (platform) => {
  const begin = (controllers: Type | Type[], options: RateLimitModuleOptions = OPTIONS): Promise<HttpApp> =>
    limited(platform, controllers, options);

  it.each<[path: string, passed: number, why: string]>([
    ['/kept/plain', 5, 'they limit a handler without a decorator'],
    ['/kept/replaced', 9, "a method's policies replace them"],
    ['/kept/kept', 5, 'they stay beside policies that keep them'],
    ['/kept/named', 2, 'a policy of the same name takes the place of a default'],
    ['/kept/skips', 8, 'one of them is skipped by its name'],
    ['/kept/both', 8, 'they are kept but for one'],
    ['/kept/none', 12, 'all of them are skipped by their names'],
    ['/classes/shared', 5, 'a class keeps all but one'],
    ['/classes/less', 5, "a method skips its class's policy"],
    ['/classes/own', 5, "a method replaces its class's policies, and keeps the defaults that its class keeps"],
    ['/classes/replaced', 9, 'a method replaces all that its class says'],
    ['/heirs/shared', 5, 'a derived class does as its base'],
  ])('%s passes %d times: %s', async (path, passed) => {
    await using app = await begin([Kept, Classes, Heirs]);
    expect(await passes(app, path)).toBe(passed);
  });

  it('are in the table with their own scope, and in an explanation', async () => {
    await using app = await begin([Kept, Classes]);
    expect(table(app)).toEqual({
      'kept/plain': ['defaults', 'burst 5 @ GET /kept/plain', 'daily 8 @ GET /kept/plain'],
      'kept/replaced': ['method', 'own 9 @ GET /kept/replaced'],
      'kept/meant': ['method', 'own 9 @ GET /kept/meant'],
      'kept/kept': ['method', 'burst 5 @ GET /kept/kept', 'daily 8 @ GET /kept/kept', 'own 9 @ GET /kept/kept'],
      'kept/named': ['method', 'daily 8 @ GET /kept/named', 'burst 2 @ GET /kept/named'],
      'kept/skips': ['defaults', 'daily 8 @ GET /kept/skips'],
      'kept/both': ['method', 'daily 8 @ GET /kept/both', 'own 9 @ GET /kept/both'],
      'kept/none': ['skipped'],
      'classes/shared': ['class', 'burst 5 @ GET /classes/shared', 'shared 7 @ Classes /classes'],
      'classes/less': ['class', 'burst 5 @ GET /classes/less'],
      'classes/own': ['method', 'burst 5 @ GET /classes/own', 'own 9 @ GET /classes/own'],
      'classes/replaced': ['method', 'own 9 @ GET /classes/replaced'],
    });
    const { policies } = await app.app.get(RateLimiter).explain('GET /kept/both', { kind: 'ip', value: '127.0.0.1' });
    expect(policies.map(({ policy }) => policy)).toEqual(['daily', 'own']);
  });

  it('are said at boot where policies replace them without a word', async () => {
    await using app = await begin([Kept, Classes]);
    const lines = app.logs.of('log').filter((line) => line.startsWith("The module's defaults"));
    expect(lines.map((line) => line.replace(/ RateLimit$/, ''))).toEqual([
      "The module's defaults ('burst', 'daily') do not limit Kept.replaced, Classes.replaced: policies of their own replace them. " +
        "@RateLimit(..., { defaults: 'keep' }) keeps them; { defaults: 'replace' } says that this is meant",
    ]);
    @Controller()
    class Own {
      @Get()
      @RateLimit(window('own', 9))
      own(): void {}
    }
    await using without = await begin(Own, { ...OPTIONS, defaults: [] });
    expect(without.logs.of('log').filter((line) => line.startsWith("The module's defaults"))).toEqual([]);
  });

  it('are in the OpenAPI document, each with its name', async () => {
    await using app = await begin([Kept], { ...OPTIONS, headers: 'throttler' });
    const document = documentRateLimits(SwaggerModule.createDocument(app.app, new DocumentBuilder().build()), app.app);
    const described = (path: string): string[] => {
      const answer = document.paths[path]?.get?.responses['429'] as { headers?: object } | undefined;
      return Object.keys(answer?.headers ?? {}).filter((name) => name.startsWith('X-RateLimit-Limit'));
    };
    expect(described('/kept/both')).toEqual(['X-RateLimit-Limit-daily', 'X-RateLimit-Limit-own']);
    expect(described('/kept/none')).toEqual([]);
  });

  describe('that functions choose', () => {
    const chosen: PolicyFunction = ({ url }: RateLimitRequest<{ url: string }>) =>
      url.includes('strict') ? window('strict', 3) : 'burst';

    it('can be kept, skipped by a name of the policies, and replaced', async () => {
      @Controller()
      class Chosen {
        @Get('kept')
        @RateLimit(window('own', 4), { defaults: 'keep' })
        kept(): void {}

        @Get('skips')
        @SkipRateLimit('burst')
        skips(): void {}

        @Get('named')
        @RateLimit(window('burst', 2), { defaults: 'keep' })
        named(): void {}
      }
      await using app = await begin(Chosen, { ...OPTIONS, defaults: [chosen] });
      expect(await passes(app, '/kept')).toBe(4);
      expect(await passes(app, '/kept?strict')).toBe(0);
      expect(await passes(app, '/skips')).toBe(12);
      expect(await passes(app, '/skips?strict')).toBe(3);
      expect(await passes(app, '/named')).toBe(2);
    });

    it('do not bring a skipped default back when they fail', async () => {
      @Controller()
      class Failing {
        @Get('skips')
        @SkipRateLimit('burst')
        skips(): void {}
      }
      const fails: PolicyFunction = () => {
        throw new Error('no policy');
      };
      await using app = await begin(Failing, { ...OPTIONS, defaults: [fails, 'burst', window('daily', 8)] });
      expect(await passes(app, '/skips')).toBe(8);
    });
  });

  describe('a wrong decorator stops the boot', () => {
    const boot = (controller: Type, options = OPTIONS): Promise<unknown> =>
      limited(platform, controller, options).then(
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

    it('for a name that the class has skipped before, and beside policies that replace the defaults', async () => {
      @Controller()
      @SkipRateLimit()
      class Twice {
        @Get()
        @SkipRateLimit('burst')
        list(): void {}
      }
      expect(await boot(Twice)).toMatch(
        /^Twice\.list, @SkipRateLimit\('burst'\): no policy named 'burst' stands there\./,
      );
      @Controller()
      class Replaced {
        @Get()
        @RateLimit(window('own', 9))
        @SkipRateLimit('burst')
        list(): void {}
      }
      expect(await boot(Replaced)).toMatch(
        /^Replaced\.list, @SkipRateLimit\('burst'\): has no effect beside @RateLimit, .* give @RateLimit \{ defaults: 'keep' \}/,
      );
    });

    it.each<[what: string, decorate: () => unknown, message: RegExp]>([
      [
        'another option',
        () => RateLimit('burst', { defaults: 'keep', name: 'x' } as never),
        /"?'?name'? is not an option/,
      ],
      [
        'another value',
        () => RateLimit('burst', { defaults: 'kept' } as never),
        /defaults must be 'keep' or 'replace', got 'kept'/,
      ],
      [
        'no policy',
        () => RateLimit({ defaults: 'keep' } as never),
        /needs a policy or a name in front of \{ defaults \}/,
      ],
      [
        'a name that is none',
        () => SkipRateLimit(7 as never),
        /@SkipRateLimit takes names of policies, or nothing, got 7/,
      ],
      [
        'nothing as a name',
        () => SkipRateLimit(undefined as never),
        /@SkipRateLimit takes names of policies, or nothing, got undefined/,
      ],
    ])('%s', (_, decorate, message) => {
      const apply = (): unknown => {
        class Wrong {
          list(): void {}
        }
        const descriptor = Object.getOwnPropertyDescriptor(Wrong.prototype, 'list')!;
        return (decorate() as MethodDecorator)(Wrong.prototype, 'list', descriptor);
      };
      expect(apply).toThrow(message);
    });
  });
});

it('work for resolvers as well', async () => {
  @Resolver()
  class Queries {
    @Query(() => Int)
    @RateLimit(window('own', 9), { defaults: 'keep' })
    kept(): number {
      return 1;
    }

    @Query(() => Int)
    @SkipRateLimit('burst')
    skips(): number {
      return 1;
    }
  }
  await using app = await startGraphql('Apollo over Express', {
    imports: [RateLimitModule.forRoot(OPTIONS)],
    providers: [Queries],
  });
  const passed = async (field: string): Promise<number> => {
    let count = 0;
    for (let i = 0; i < 12; i++) if ((await app.ask(`{ ${field} }`)).data != null) count++;
    return count;
  };
  expect([await passed('kept'), await passed('skips')]).toEqual([5, 8]);
});

it('the metadata of a class outlives an application: another one has other defaults', async () => {
  @Controller()
  class Both {
    @Get()
    @RateLimit(window('own', 9), { defaults: 'keep' })
    list(): void {}
  }
  for (const [defaults, names] of [
    [['burst'], ['burst', 'own']],
    [[], ['own']],
  ] as const) {
    await using app = await start('Express', {
      imports: [RateLimitModule.forRoot({ ...OPTIONS, defaults: [...defaults] })],
      controllers: [Both],
    });
    expect(
      app.app
        .get(RateLimiter)
        .table()
        .routes[0]!.policies.map(({ name }) => name),
    ).toEqual(names);
  }
});
