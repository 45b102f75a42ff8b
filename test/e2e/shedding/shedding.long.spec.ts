import { Controller, type ExecutionContext, Get, UseGuards } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { Registry } from 'prom-client';
import {
  RateLimit,
  RateLimiter,
  RateLimitGuard,
  RateLimitMetricsModule,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitRequest,
  type ShedOptions,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { Exposition } from '../../support/exposition.js';
import { type HttpApp, limited, type Platform, PLATFORMS, type Reply, start } from '../../support/http-app.js';
import { until } from '../../support/faults/until.js';
import { sheddingOf, Switch, untilLevel } from '../../support/shedding.js';
import { StillStore } from '../../support/still-store.js';

const MANY = { algorithm: 'fixed-window', limit: 1000, window: '300d' } as const;

@Controller()
class Routes {
  @Get('limited')
  @RateLimit(MANY)
  limited(): void {}

  @Get('twice')
  @UseGuards(RateLimitGuard)
  @RateLimit(MANY)
  twice(): void {}

  @Get('open')
  open(): void {}

  @Get('healthz')
  @SkipRateLimit()
  health(): void {}
}

@Controller('probes')
@SkipRateLimit()
class Probes {
  @Get('ready')
  ready(): void {}

  @Get('limited')
  @RateLimit(MANY)
  limited(): void {}
}

/** The class is what the client's header says. */
const priority: NonNullable<ShedOptions['priority']> = ({ headers }: RateLimitRequest) =>
  headers['x-class'] as string | undefined;

const as = (app: HttpApp, name: string, path = '/limited'): Promise<Reply> =>
  app.send(path, { headers: { 'X-Class': name } });

const statuses = async (replies: readonly Promise<Reply>[]): Promise<number[]> =>
  (await Promise.all(replies)).map(({ status }) => status);

describe('a process that is over its threshold', () => {
  const serve = async (
    shed: Partial<ShedOptions> = {},
    options: RateLimitModuleOptions = {},
    over = new Switch(),
    platform: Platform = 'Express',
  ): Promise<HttpApp> => {
    const app = await limited(platform, [Routes, Probes], { ...options, shed: over.options({ priority, ...shed }) });
    await untilLevel(app.app, 1);
    return app;
  };

  it.each(PLATFORMS)('over %s rejects the classes that give way before any store is asked', async (platform) => {
    const store = new StillStore();
    await using app = await serve({ retryAfter: 2500 }, { store }, new Switch(), platform);
    for (const path of ['/limited', '/twice', '/open', '/probes/limited']) {
      for (const name of ['background', 'normal']) {
        const { status, headers, body } = await as(app, name, path);
        expect({ status, body }).toEqual({
          status: 503,
          body: { statusCode: 503, error: 'load_shed', message: 'The server is overloaded', retry_after: 3 },
        });
        expect(headers).toMatchObject({ 'retry-after': '3', 'cache-control': 'no-store' });
      }
    }
    expect(store.asked).toEqual([]);
    expect(sheddingOf(app.app).rejected).toEqual([
      { priority: 'background', requests: 4 },
      { priority: 'normal', requests: 4 },
    ]);
    expect(await statuses(['critical', 'constructor'].map((name) => as(app, name)))).toEqual([200, 200]);
    expect((await app.send('/limited')).status).toBe(200);
    expect(store.asked).toHaveLength(3);
    expect(app.logs.of('error')).toEqual([]);
  });

  it('counts in the metrics, and nowhere among the decisions', async () => {
    const registry = new Registry();
    await using app = await start('Express', {
      imports: [
        RateLimitModule.forRoot({ shed: new Switch().options({ priority }) }),
        RateLimitMetricsModule.forRoot({ registry }),
      ],
      controllers: [Routes],
    });
    await untilLevel(app.app, 1);
    for (const name of ['background', 'normal', 'normal', 'critical']) await as(app, name);
    const metrics = new Exposition(await registry.metrics());
    expect(metrics.get('rate_limiter_shed_total', { priority: 'background' })).toBe(1);
    expect(metrics.get('rate_limiter_shed_total', { priority: 'normal' })).toBe(2);
    expect(metrics.get('rate_limiter_shed_level')).toBe(1);
    expect(app.app.get(RateLimiter).stats()).toMatchObject({ requests: 1, allowed: 1, unavailable: 0 });
  });

  it('passes health checks, whatever class they have', async () => {
    await using app = await serve({ priority: 'background' });
    expect(await statuses(['/healthz', '/probes/ready'].map((path) => app.send(path)))).toEqual([200, 200]);
    expect((await app.send('/open')).status).toBe(503);
  });

  it('passes the addresses of allowList, and turns away those of blockList with 403', async () => {
    await using app = await serve({ priority: 'normal' }, { allowList: ['127.0.0.1'] });
    expect((await app.send('/limited')).status).toBe(200);
    expect((await app.send('/open')).status).toBe(200);
    await using other = await serve({ priority: 'normal' }, { blockList: ['127.0.0.1'] });
    expect((await other.send('/limited')).status).toBe(403);
  });

  it('says in the log that it sheds and why, and when it keeps up again', async () => {
    const over = new Switch();
    await using app = await serve({}, {}, over);
    expect(app.logs.of('warn')).toContain(
      "The process is over check of shed: it answers a part of its 'background' and 'normal' requests with 503 RateLimit",
    );
    over.over = false;
    await untilLevel(app.app, 0);
    expect((await as(app, 'background')).status).toBe(200);
    expect(app.logs.of('log')).toContain('The process keeps up again: it sheds no requests RateLimit');
    expect(sheddingOf(app.app)).toMatchObject({ active: false, threshold: undefined });
  });

  it('charges the middleware first, unless beforeRouting', async () => {
    const middleware = [{ ...MANY, name: 'all' }];
    const store = new StillStore();
    await using app = await serve({}, { middleware, store });
    expect(await statuses([as(app, 'normal'), as(app, 'normal', '/nowhere')])).toEqual([503, 404]);
    expect(store.asked).toHaveLength(2);

    const asked: string[] = [];
    const before = new StillStore();
    const choose = (request: RateLimitRequest, context: ExecutionContext): string | undefined => {
      asked.push(request.url!);
      return request.url === '/healthz' ? undefined : (priority as typeof choose)(request, context);
    };
    await using early = await serve({ beforeRouting: true, priority: choose }, { middleware, store: before });
    expect(await statuses([as(early, 'normal'), as(early, 'normal', '/nowhere')])).toEqual([503, 503]);
    expect(await as(early, 'normal', '/limited')).toMatchObject({ headers: { 'retry-after': '5' } });
    expect(before.asked).toEqual([]);
    expect((await as(early, 'normal', '/healthz')).status).toBe(200);
    expect(sheddingOf(early.app).rejected[1]).toEqual({ priority: 'normal', requests: 3 });
  });

  it('counts the failures of a check and of a priority function, whose request passes', async () => {
    const over = new Switch();
    await using app = await serve({ priority: () => fail() }, {}, over);
    expect((await app.send('/limited')).status).toBe(200);
    over.over = 1 as never; // no boolean
    await until('a check that says nothing', 10_000, () => app.app.get(RateLimiter).stats().functionFailures.shed > 0);
    expect(app.app.get(RateLimiter).stats().functionFailures.priority).toBe(1);
    expect(app.logs.text).toContain('priority of shed failed, the request passes: ');
  });

  it('lets a subclass of the guard skip first', async () => {
    class Internal extends RateLimitGuard {
      protected override shouldSkip(context: ExecutionContext): boolean {
        return context.switchToHttp().getRequest<RateLimitRequest>().headers['x-internal'] === '1';
      }
    }
    @Controller()
    @UseGuards(Internal)
    class Own {
      @Get('limited')
      @RateLimit(MANY)
      limited(): void {}

      @Get('open')
      open(): void {}
    }
    await using app = await limited('Express', Own, {
      guard: false,
      shed: new Switch().options({ priority: 'normal' }),
    });
    await untilLevel(app.app, 1);
    for (const path of ['/limited', '/open']) {
      expect((await app.send(path, { headers: { 'X-Internal': '1' } })).status).toBe(200);
      expect((await app.send(path)).status).toBe(503);
    }
  });
});

describe('without a priority of its own, a process takes the classes of policies', () => {
  const CLASSED = { ...MANY, scope: 'app', priorities: { critical: 1, normal: 0.9, background: 0.5 } } as const;
  const byHeader = ({ headers }: RateLimitRequest) => headers['x-class'] as string | undefined;
  const failing = ({ headers }: RateLimitRequest) => (headers['x-class'] === 'fail' ? fail() : byHeader({ headers }));

  @Controller()
  class Classed {
    @Get('background')
    @RateLimit({ ...CLASSED, name: 'background', priority: 'background' })
    background(): void {}

    @Get('default')
    @RateLimit({ ...CLASSED, name: 'default' })
    first(): void {}

    @Get('lowest')
    @RateLimit(
      { ...CLASSED, name: 'one', priority: 'critical' },
      { ...CLASSED, name: 'other', priority: 'normal' },
      { ...MANY, name: 'none' },
    )
    lowest(): void {}

    @Get('shadow')
    @RateLimit({ ...MANY, name: 'enforced' }, { ...CLASSED, name: 'tried', priority: 'background', mode: 'shadow' })
    shadow(): void {}

    @Get('asked')
    @RateLimit({ ...CLASSED, name: 'asked', priority: failing })
    asked(): void {}

    @Get('both')
    @RateLimit(
      { ...CLASSED, name: 'fixed', priority: 'background' },
      { ...CLASSED, name: 'failing', priority: failing },
    )
    both(): void {}

    @Get('open')
    open(): void {}
  }

  it('the lowest one', async () => {
    await using app = await limited('Express', Classed, { shed: new Switch().options() });
    expect(app.logs.text).not.toContain('can ever be shed');
    await untilLevel(app.app, 1);
    const status = async (path: string, name = 'critical'): Promise<number> => (await as(app, name, path)).status;
    expect(await status('/background')).toBe(503);
    expect(await status('/default')).toBe(200);
    expect(await status('/lowest')).toBe(503);
    expect(await status('/shadow')).toBe(200);
    expect(await status('/open')).toBe(200);
    expect(await status('/asked', 'normal')).toBe(503);
    expect(await status('/asked', 'critical')).toBe(200);
    expect((await app.send('/asked')).status).toBe(200);
    // A function that fails takes nothing of the reserve, and sheds nothing.
    expect(await status('/asked', 'fail')).toBe(200);
    expect(await status('/both', 'fail')).toBe(200);
    expect(await status('/both', 'normal')).toBe(503);
    expect(sheddingOf(app.app).rejected).toEqual([
      { priority: 'background', requests: 2 },
      { priority: 'normal', requests: 2 },
    ]);
  });
});

it('is one decision of a request on a class, however many steps ask', async () => {
  // The test measures, and no real timer does: a window of a minute has ten measurements.
  const now = performance.now.bind(performance);
  let laterMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => now() + laterMs);
  const intervals = jest.spyOn(globalThis, 'setInterval');
  const shed = new Switch().options({ classes: ['normal'], priority, window: '60s', beforeRouting: true });
  await using app = await limited('Express', Routes, { middleware: [{ ...MANY, name: 'all' }], shed });
  const [measure] = intervals.mock.calls.find(([, everyMs]) => everyMs === 6_000)!;
  while (!sheddingOf(app.app).active) {
    laterMs += 6_000;
    measure();
  }
  // A part of the requests is rejected: whoever asks twice would reject more than the part.
  const { level } = sheddingOf(app.app);
  expect([level > 0, level < 1]).toEqual([true, true]);
  const replies = await statuses(Array.from({ length: 180 }, () => as(app, 'normal', '/twice')));
  const rejected = replies.filter((status) => status === 503).length;
  expect(sheddingOf(app.app).level).toBe(level);
  expect(rejected).toBe(Math.floor(180 * level));
});

function fail(): never {
  throw new Error('no class');
}
