import {
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  type ModuleMetadata,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import { type DecisionEvent, RateLimit } from 'nestjs-floodgate';
import * as ours from 'nestjs-floodgate/throttler';
import {
  SkipThrottle,
  Throttle,
  ThrottlerGuard,
  type ThrottlerLimitDetail,
  ThrottlerModule,
  type ThrottlerModuleOptions,
  type ThrottlerOptionsFactory,
  type ThrottlerRequest,
} from 'nestjs-floodgate/throttler';
import { type HttpApp, PLATFORMS, start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { theirs } from './support/theirs.js';

@Controller()
class Routes {
  @Get('one')
  one(): string {
    return 'one';
  }

  @Get('other')
  other(): string {
    return 'other';
  }
}

const TWO = { limit: 2, ttl: 60_000 };

/** An application of these controllers with a guard for all routes. */
function throttled(
  options: ThrottlerModuleOptions,
  controllers: Type[] = [Routes],
  guard: Type | null = ThrottlerGuard,
  more: ModuleMetadata = {},
): Promise<HttpApp> {
  return start('Express', {
    imports: [ThrottlerModule.forRoot(options)],
    controllers,
    providers: guard === null ? [] : [{ provide: APP_GUARD, useClass: guard }],
    ...more,
  });
}

async function statuses(app: HttpApp, path: string, count: number, headers = {}): Promise<number[]> {
  const seen = [];
  for (let i = 0; i < count; i++) seen.push((await app.send(path, { headers })).status);
  return seen;
}

it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
  'counts by a throttler that is called %s',
  async (name) => {
    await using app = await throttled([{ ...TWO, name }]);
    expect(await statuses(app, '/one', 3)).toEqual([200, 200, 429]);
  },
);

it('exports what @nestjs/throttler exports, but for the interval of a sweep that does not exist', () => {
  expect(Object.keys(ours).toSorted()).toEqual(
    Object.keys(theirs)
      .filter((name) => name !== 'DEFAULT_SWEEP_INTERVAL')
      .toSorted(),
  );
  const durations = ({
    seconds,
    minutes,
    hours,
    days,
    weeks,
  }: Pick<typeof ours, 'seconds' | 'minutes' | 'hours' | 'days' | 'weeks'>) =>
    [seconds, minutes, hours, days, weeks].map((duration) => duration(3));
  expect(durations(ours)).toEqual(durations(theirs));
  expect(ours.throttlerMessage).toBe(theirs.throttlerMessage);
  expect(new ours.ThrottlerException().getResponse()).toBe(new theirs.ThrottlerException().getResponse());
});

describe('ThrottlerModule', () => {
  it('takes an array, and counts each route by itself', async () => {
    await using app = await throttled([TWO]);
    expect(await statuses(app, '/one', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/other', 1)).toEqual([200]);
  });

  it.each([
    ['useFactory', { useFactory: () => [TWO] }],
    ['useFactory with a promise', { useFactory: async () => ({ throttlers: [TWO] }) }],
    ['useClass', { useClass: factory() }],
  ])('takes options from %s', async (_name, options) => {
    await using app = await throttled([], [Routes], ThrottlerGuard, {
      imports: [ThrottlerModule.forRootAsync(options)],
    });
    expect(await statuses(app, '/one', 3)).toEqual([200, 200, 429]);
  });

  it('takes options from a class of another module, and injects into a factory', async () => {
    const Factory = factory();
    @Module({ providers: [Factory, { provide: 'LIMIT', useValue: 1 }], exports: [Factory, 'LIMIT'] })
    class Configuration {}
    const useFactory = (limit: number): ThrottlerModuleOptions => [{ ...TWO, limit }];
    const imports = [Configuration];
    for (const options of [
      { imports, useExisting: Factory },
      { imports, inject: ['LIMIT'], useFactory },
    ]) {
      await using app = await throttled([], [Routes], ThrottlerGuard, {
        imports: [ThrottlerModule.forRootAsync(options)],
      });
      expect((await statuses(app, '/one', 3)).at(-1)).toBe(429);
    }
  });

  it('limits with one guard on a class, and warns of no missing guard', async () => {
    @Controller()
    @UseGuards(ThrottlerGuard)
    class Guarded extends Routes {}
    await using app = await throttled([TWO], [Guarded], null);
    expect(await statuses(app, '/one', 3)).toEqual([200, 200, 429]);
    expect(app.logs.text).not.toContain('no ThrottlerGuard is bound');
  });

  it('brings RateLimitModule: a route with @RateLimit has its policies beside the throttlers', async () => {
    @Controller()
    class Mixed {
      @Get('native')
      @SkipThrottle()
      @RateLimit({ algorithm: 'token-bucket', capacity: 1, refill: '1/m' })
      native(): void {}
    }
    const events: DecisionEvent[] = [];
    await using app = await throttled({ throttlers: [TWO], onDecision: (event) => events.push(event) }, [
      Mixed,
      Routes,
    ]);
    expect(await statuses(app, '/native', 2)).toEqual([200, 429]);
    expect(await statuses(app, '/one', 4)).toEqual([200, 200, 429, 429]);
    // One decision for each request and throttler, whatever else is kept.
    expect(events.map(({ decision }) => decision.allowed)).toEqual([true, false, true, true, false, false]);
  });

  it.each<[string, object, RegExp]>([
    [
      'storage',
      { throttlers: [TWO], storage: { increment: async () => ({}) } },
      /^ThrottlerModule: storage: .*In place of ThrottlerStorageRedisService give redis/,
    ],
    [
      'an unknown option',
      { throttlers: [TWO], errorMesage: 'x' },
      /'errorMesage' is not an option. Did you mean errorMessage\?/,
    ],
    [
      'an option of the engine that is wrong',
      { throttlers: [TWO], redis: 'localhost' },
      /^RateLimitModule: redis must be a redis:\/\//,
    ],
    ['no throttlers', { ttl: 60, limit: 10 }, /'ttl' is not an option/],
    ['throttlers that are no array', { throttlers: TWO }, /throttlers must be an array such as/],
    ['two of one name', [TWO, TWO], /throttlers\[1\]: two throttlers are named 'default'/],
    ['a missing limit', [{ ttl: 1000 }], /throttlers\[0\]: limit is missing/],
    ['a ttl of 0', [{ limit: 1, ttl: 0 }], /throttlers\[0\]: ttl must be milliseconds from 1, got 0/],
    [
      'a limit that is no number',
      [{ limit: 'many', ttl: 1000 }],
      /throttlers\[0\]: limit must be a whole number from 0 to 1000000, got NaN/,
    ],
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

  it('takes numbers as a configuration gives them, as text', async () => {
    await using app = await throttled([{ limit: '2', ttl: '60000' } as unknown as typeof TWO]);
    expect(await statuses(app, '/one', 3)).toEqual([200, 200, 429]);
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
    expect(() => Throttle(5 as never)(class Wrong {})).toThrow(
      '@Throttle takes an object by the names of throttlers, got 5',
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

describe('ThrottlerGuard', () => {
  it.each(PLATFORMS)('asks its overridden steps over %s', async (platform) => {
    @Injectable()
    class OwnGuard extends ThrottlerGuard {
      protected override headerPrefix = 'X-Own';
      // oxlint-disable-next-line typescript/no-explicit-any -- the shape of @nestjs/throttler
      protected override async getTracker(req: Record<string, any>): Promise<string> {
        return req.headers['x-user'] as string;
      }
      protected override generateKey(_context: ExecutionContext, suffix: string, name: string): string {
        return `all routes of ${suffix}, ${name}`;
      }
      protected override async shouldSkip(context: ExecutionContext): Promise<boolean> {
        return context.switchToHttp().getRequest().headers['x-user'] === 'root';
      }
      protected override async getErrorMessage(
        _context: ExecutionContext,
        detail: ThrottlerLimitDetail,
      ): Promise<string> {
        return `${detail.tracker} ${detail.key} ${detail.totalHits}/${detail.limit} ${detail.ttl} ${detail.timeToBlockExpire}`;
      }
    }
    await using app = await start(platform, {
      imports: [ThrottlerModule.forRoot([TWO])],
      controllers: [Routes],
      providers: [{ provide: APP_GUARD, useClass: OwnGuard }],
    });
    const ada = { headers: { 'x-user': 'ada' } };
    expect((await app.send('/one', ada)).headers).toMatchObject({
      'x-own-limit': '2',
      'x-own-remaining': '1',
      'x-own-reset': '60',
    });
    expect((await app.send('/other', ada)).status).toBe(200);
    const rejected = await app.send('/one', ada);
    expect(rejected.body).toEqual({ statusCode: 429, message: 'ada all routes of ada, default 3/2 60000 60' });
    expect(await statuses(app, '/one', 3, { 'x-user': 'grace' })).toEqual([200, 200, 429]);
    expect(await statuses(app, '/one', 3, { 'x-user': 'root' })).toEqual([200, 200, 200]);
  });

  it('asks handleRequest for each throttler, and a storage that it may ask itself', async () => {
    const asked: [string | undefined, number, number, number][] = [];
    class Counting extends ThrottlerGuard {
      protected override async handleRequest(request: ThrottlerRequest): Promise<boolean> {
        const { throttler, limit, ttl, blockDuration, context } = request;
        asked.push([throttler.name, limit, ttl, blockDuration]);
        const { isBlocked } = await this.storageService.increment('key', ttl, limit, blockDuration, throttler.name!);
        if (isBlocked) context.switchToHttp().getResponse().header('X-Blocked', 'yes');
        return true;
      }
    }
    await using app = await throttled(
      [
        { name: 'long', limit: 9, ttl: 9000, blockDuration: 0 },
        { limit: 1, ttl: 5000 },
      ],
      [Routes],
      Counting,
    );
    await app.send('/one');
    expect((await app.send('/one')).headers['x-blocked']).toBe('yes');
    expect(asked.slice(0, 2)).toEqual([
      ['default', 1, 5000, 5000],
      ['long', 9, 9000, 0],
    ]);
  });

  it('throws what throwThrottlingException throws, and passes what it lets pass', async () => {
    class Lenient extends ThrottlerGuard {
      protected override async throwThrottlingException(): Promise<void> {}
    }
    await using app = await throttled([{ limit: 1, ttl: 1000 }], [Routes], Lenient);
    expect(await statuses(app, '/one', 3)).toEqual([200, 200, 200]);
  });

  it('sets no headers with setHeaders: false, of one throttler or of all', async () => {
    await using none = await throttled({ throttlers: [TWO], setHeaders: false });
    expect(Object.keys((await none.send('/one')).headers).filter((name) => name.startsWith('x-ratelimit'))).toEqual([]);
    await using one = await throttled({
      throttlers: [
        { ...TWO, setHeaders: false },
        { ...TWO, name: 'long' },
      ],
    });
    expect(
      Object.keys((await one.send('/one')).headers).filter((name) => name.endsWith('limit') || name.endsWith('long')),
    ).toEqual(['x-ratelimit-limit-long', 'x-ratelimit-remaining-long', 'x-ratelimit-reset-long']);
  });

  it('answers with errorMessage, as text and as a function', async () => {
    for (const errorMessage of ['slow down', () => 'slow down']) {
      await using app = await throttled({ throttlers: [{ limit: 0, ttl: 1000 }], errorMessage });
      expect((await app.send('/one')).body).toEqual({ statusCode: 429, message: 'slow down' });
    }
  });

  it('keeps keys apart by a mark of its own, and lets them expire with their hits', async () => {
    const store = new StillStore();
    await using app = await throttled({ throttlers: [TWO], store, keyPrefix: 'own' });
    await app.send('/one');
    for (const key of store.keys)
      expect(key).toMatch(/^own:\{throttler:[0-9a-f]{64}\}:throttler:default(?: block| period)?:swl:60000000$/);
    expect(store.keys).toHaveLength(3);
  });

  it('is made with new as well, for tests of an application', async () => {
    const guard = new ThrottlerGuard([{ limit: 1, ttl: 1000 }], new ours.ThrottlerStorageService(), undefined as never);
    await guard.onModuleInit();
    const headers: Record<string, unknown> = {};
    const http = {
      getRequest: () => ({ ip: '1.2.3.4', headers: {} }),
      getResponse: () => ({ header: (name: string, value: unknown) => (headers[name] = value) }),
    };
    const context = {
      getHandler: () => methodOf(Routes, 'one'),
      getClass: () => Routes,
      switchToHttp: () => http,
    } as unknown as ExecutionContext;
    await expect(guard.canActivate(context)).resolves.toBe(true);
    await expect(guard.canActivate(context)).rejects.toThrow(ours.ThrottlerException);
    expect(headers).toMatchObject({ 'X-RateLimit-Remaining': 0, 'Retry-After': 1 });
  });
});

function factory(): Type<ThrottlerOptionsFactory> {
  @Injectable()
  class Factory implements ThrottlerOptionsFactory {
    createThrottlerOptions(): ThrottlerModuleOptions {
      return [TWO];
    }
  }
  return Factory;
}

function methodOf({ prototype }: Type, name: string): object {
  return (prototype as Record<string, object>)[name]!;
}
