import {
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  type NestInterceptor,
  Next,
  Req,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import {
  chargedBy,
  type Decision,
  MemoryStore,
  type Policy,
  type PolicySource,
  RateLimit,
  RateLimitDecision,
  rateLimitDecisionOf,
  RateLimiter,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  type RateLimitRequest,
  SkipRateLimit,
  userIdentity,
} from 'nestjs-floodgate';
import { type HttpApp, limited, PLATFORMS, start } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const HOUR = { algorithm: 'fixed-window', window: '1h' } as const;
const TEN = { ...HOUR, name: 'ten', limit: 10 } as const satisfies Policy;
const GLOBAL = { ...HOUR, name: 'all', limit: 100, by: 'global', scope: 'app' } as const satisfies Policy;

type Asked = RateLimitRequest<{ query: Record<string, string | undefined> }>;

/** What a handler says of its decision. JSON leaves out what is undefined. */
interface Told {
  readonly decision?: Decision;
  readonly charged?: ReturnType<typeof chargedBy>;
}

const told = (decision: Decision | undefined): Told =>
  decision === undefined ? {} : { decision, charged: chargedBy(decision) };

async function ask(app: HttpApp, path: string, headers: Record<string, string> = {}): Promise<Told> {
  const { status, body, text } = await app.send(path, { headers });
  expect([status, text]).toEqual([200, expect.any(String)]);
  return body as Told;
}

const begin = (
  platform: (typeof PLATFORMS)[number],
  controller: Parameters<typeof limited>[1],
  options: RateLimitModuleOptions = {},
): Promise<HttpApp> => limited(platform, controller, { store: new StillStore(), ...options });

describe.each(PLATFORMS)('over %s, a handler is told', (platform) => {
  it('the decision on its request, with what it was charged', async () => {
    const decisions: unknown[] = [];
    @Controller()
    class Reports {
      @Get()
      @RateLimit({ ...TEN, cost: ({ query }: Asked) => Number(query['cost'] ?? 1) }, { ...TEN, name: 'free', cost: 0 })
      list(@RateLimitDecision() decision: Decision): Told {
        expect(decision).toBe(decisions.at(-1)); // made once
        return told(decision);
      }
    }
    await using app = await begin(platform, Reports, { onDecision: ({ decision }) => void decisions.push(decision) });
    expect(await ask(app, '/?cost=3')).toMatchObject({
      decision: {
        allowed: true,
        decidedBy: 'store',
        policies: [
          { policy: 'ten', algorithm: 'fixed-window', limit: 10, remaining: 7, resetAfterMs: 3_600_000 },
          { policy: 'free', remaining: 10 },
        ],
        decidedAtMs: Date.UTC(2024, 0, 1),
      },
      charged: [{ policy: 'ten', cost: 3 }],
    });
    expect((await ask(app, '/?cost=7')).decision!.policies[0]!.remaining).toBe(0);
    expect((await app.send('/')).status).toBe(429);
    expect(app.logs.of('warn')).toEqual([]);
  });

  it('by a policy in shadow, that the request is over a soft limit', async () => {
    @Controller()
    class Models {
      @Get()
      @RateLimit({ ...TEN, name: 'quota', mode: 'shadow', limit: 2 }, { ...TEN, limit: 4 })
      answer(@RateLimitDecision() decision: Decision): object {
        return { over: decision.shadow?.some(({ allowed }) => !allowed), charged: chargedBy(decision) };
      }
    }
    await using app = await begin(platform, Models);
    const within = {
      over: false,
      charged: [
        { policy: 'ten', cost: 1 },
        { policy: 'quota', cost: 1 },
      ],
    };
    const over = { over: true, charged: [{ policy: 'ten', cost: 1 }] };
    const bodies: unknown[] = [];
    for (let i = 0; i < 4; i++) bodies.push((await app.send('/')).body);
    expect(bodies).toEqual([within, within, over, over]);
    expect((await app.send('/')).status).toBe(429);
  });

  it('nothing where no policy was asked', async () => {
    @Controller()
    class Free {
      @Get('skipped')
      @SkipRateLimit()
      skipped(@RateLimitDecision() decision: Decision | undefined): object {
        return { got: decision ?? 'nothing' };
      }

      @Get('left-out')
      @RateLimit({ ...TEN, skipIf: () => true })
      leftOut(@RateLimitDecision() decision: Decision | undefined): object {
        return { got: decision ?? 'nothing' };
      }

      @Get('listed')
      @RateLimit(TEN)
      listed(@RateLimitDecision() decision: Decision | undefined): object {
        return { got: decision ?? 'nothing' };
      }
    }
    await using app = await begin(platform, Free, { allowList: ['127.0.0.1'] });
    for (const path of ['/skipped', '/left-out', '/listed']) {
      expect((await app.send(path)).body).toEqual({ got: 'nothing' });
    }
    expect(app.logs.of('warn')).toEqual([
      'Free.skipped: @RateLimitDecision is always undefined there, because no policy limits a route: add @RateLimit RateLimit',
    ]);
  });

  it('of an exempt client, that an override decided', async () => {
    @Controller()
    class Reports {
      @Get()
      @RateLimit({ ...TEN, by: 'user' })
      list(@RateLimitDecision() decision: Decision): Told {
        return told(decision);
      }
    }
    await using app = await begin(platform, Reports, { identity: [userIdentity()] });
    const target = { policy: 'ten', identity: { kind: 'user', value: 'ada' } };
    await app.app.get(RateLimitOverrides).set(target, { exempt: true }, { author: 'a test' });
    expect(await ask(app, '/', { 'X-User-Id': 'ada' })).toMatchObject({
      decision: { decidedBy: 'override', policies: [] },
      charged: [],
    });
    expect((await ask(app, '/', { 'X-User-Id': 'bob' })).charged).toEqual([{ policy: 'ten', cost: 1 }]);
  });

  it("the module's middleware and its own policies in one decision", async () => {
    @Controller()
    class Routes {
      @Get('both')
      @RateLimit({ ...TEN, cost: 2 }, { ...TEN, name: 'soft', mode: 'shadow' })
      both(@RateLimitDecision() decision: Decision): Told {
        return told(decision);
      }

      @Get('dearer')
      @RateLimit('all')
      dearer(@RateLimitDecision() decision: Decision): Told {
        return told(decision);
      }

      @Get('free')
      @SkipRateLimit()
      free(@RateLimitDecision() decision: Decision): Told {
        return told(decision);
      }
    }
    const store = new StillStore();
    const cost = (_: unknown, context: ExecutionContext): number => (context.getHandler().name === 'dearer' ? 5 : 1);
    const middleware: PolicySource[] = ['all', { ...GLOBAL, name: 'try', limit: 1, mode: 'shadow' }];
    await using app = await begin(platform, Routes, { store, middleware, policies: { all: { ...GLOBAL, cost } } });
    const both = await ask(app, '/both');
    expect(both.decision!.policies.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['all', 99],
      ['ten', 8],
    ]);
    expect(both.decision!.shadow!.map(({ policy, allowed }) => [policy, allowed])).toEqual([
      ['try', true],
      ['soft', true],
    ]);
    expect(both.charged).toEqual([
      { policy: 'all', cost: 1 },
      { policy: 'ten', cost: 2 },
      { policy: 'try', cost: 1 },
      { policy: 'soft', cost: 1 },
    ]);
    const free = await ask(app, '/free');
    expect(free.decision!.shadow!.map(({ policy, allowed }) => [policy, allowed])).toEqual([['try', false]]);
    expect(free.charged).toEqual([{ policy: 'all', cost: 1 }]);
    // The route pays the difference, and both steps together the whole.
    const dearer = await ask(app, '/dearer');
    expect(dearer.decision!.policies.map(({ policy, remaining }) => [policy, remaining])).toEqual([['all', 93]]);
    expect(dearer.charged).toEqual([{ policy: 'all', cost: 5 }]);
    expect(app.logs.of('warn').filter((line) => line.includes('@RateLimitDecision'))).toEqual([]);
  });

  it('what its headers say, with the earlier step counted down to the later one', async () => {
    const store = new StillStore();
    const said: Decision[] = [];
    class Saying extends RateLimitGuard {
      protected override setHeaders(context: ExecutionContext, decision: Decision): void {
        said.push(decision);
        super.setHeaders(context, decision);
      }
    }
    const cost = (): number => {
      store.advance(1000); // between the middleware and the route
      return 2;
    };
    @Controller()
    class Reports {
      @Get()
      @RateLimit({ ...TEN, cost })
      list(@RateLimitDecision() decision: Decision): Told {
        expect(decision).toEqual(said.at(-1));
        return told(decision);
      }
    }
    await using app = await start(platform, {
      imports: [RateLimitModule.forRoot({ store, middleware: [GLOBAL], guard: false })],
      controllers: [Reports],
      providers: [{ provide: APP_GUARD, useClass: Saying }],
    });
    const { decision } = await ask(app, '/');
    expect(decision!.decidedAtMs).toBe(Date.UTC(2024, 0, 1) + 1000);
    expect(decision!.policies.map(({ policy, resetAfterMs }) => [policy, resetAfterMs])).toEqual([
      ['all', 3_599_000],
      ['ten', 3_599_000],
    ]);
    expect(said).toHaveLength(2);
  });

  it('the decision at admission, however it waits and whatever it settles', async () => {
    const later: unknown[] = [];
    @Controller()
    class Slow {
      @Get('queue')
      @RateLimit({ name: 'queue', algorithm: 'leaky-bucket', capacity: 10, drain: 20 })
      queue(@RateLimitDecision() decision: Decision): Told {
        return told(decision);
      }

      @Get('settled')
      @RateLimit({ ...TEN, cost: 6, settle: () => 2 })
      settled(@RateLimitDecision() decision: Decision, @Req() request: object): Told {
        setTimeout(() => later.push(rateLimitDecisionOf(request)), 50);
        return told(decision);
      }

      @Get('lease')
      @RateLimit({ name: 'lease', algorithm: 'concurrency', limit: 3, lease: '1m' })
      lease(@RateLimitDecision() decision: Decision): Told {
        return told(decision);
      }
    }
    await using app = await limited(platform, Slow, { store: new MemoryStore() });
    const waits = (await Promise.all([1, 2, 3].map(() => ask(app, '/queue')))).map(({ decision }) => decision!.delayMs);
    const [first, second, third] = waits.toSorted((one, other) => one - other);
    expect(first).toBe(0);
    expect(second).toBeGreaterThan(0);
    expect(third).toBeGreaterThan(second!);
    const settled = await ask(app, '/settled');
    expect(settled).toMatchObject({
      decision: { policies: [{ remaining: 4 }] },
      charged: [{ policy: 'ten', cost: 6 }],
    });
    expect(await ask(app, '/lease')).toMatchObject({ charged: [{ policy: 'lease', cost: 1 }] });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(JSON.parse(JSON.stringify(later))).toEqual([settled.decision]);
  });

  it('never the decision of another request, however many run at once', async () => {
    @Controller()
    class Echo {
      @Get()
      @RateLimit({
        ...TEN,
        by: ({ query }: Asked) => ({ kind: 'n', value: query['n']! }),
        limit: 1000,
        cost: ({ query }: Asked) => Number(query['n']),
      })
      async echo(@RateLimitDecision() decision: Decision, @Req() request: object): Promise<object> {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
        expect(rateLimitDecisionOf(request)).toBe(decision);
        return { left: decision.policies[0]!.remaining, charged: chargedBy(decision)[0]!.cost };
      }
    }
    await using app = await begin(platform, Echo);
    const costs = Array.from({ length: 60 }, (_, i) => i + 1);
    const bodies = await Promise.all(costs.map(async (n) => (await app.send(`/?n=${n}`)).body));
    expect(bodies).toEqual(costs.map((n) => ({ left: 1000 - n, charged: n })));
  });

  it('by a function wherever the context or the request is, and not in front of the guard', async () => {
    const seen: Record<string, unknown> = {};
    class Before implements CanActivate {
      canActivate(context: ExecutionContext): boolean {
        seen['guard'] = rateLimitDecisionOf(context);
        return true;
      }
    }
    class Around implements NestInterceptor {
      intercept(context: ExecutionContext, next: CallHandler): ReturnType<CallHandler['handle']> {
        seen['interceptor'] = rateLimitDecisionOf(context);
        return next.handle();
      }
    }
    @Controller()
    class Reports {
      @Get()
      @RateLimit(TEN)
      @UseGuards(Before)
      @UseInterceptors(Around)
      list(@RateLimitDecision() decision: Decision, @Req() request: object): void {
        seen['handler'] = decision;
        seen['request'] = rateLimitDecisionOf(request);
      }
    }
    await using app = await begin(platform, Reports);
    await app.send('/');
    expect(seen['handler']).toMatchObject({ policies: [{ remaining: 9 }] });
    expect(seen).toEqual({
      guard: seen['handler'], // it comes behind the global guard
      interceptor: seen['handler'],
      handler: seen['handler'],
      request: seen['handler'],
    });
    expect(rateLimitDecisionOf({})).toBeUndefined();
    expect(() => rateLimitDecisionOf('request' as unknown as object)).toThrow(
      "rateLimitDecisionOf: takes the ExecutionContext, or the request of a route, got 'request'",
    );
  });
});

it('a handler that passes a request on over Express is told its own step, and the next one both', async () => {
  const seen: (string[] | undefined)[] = [];
  const names = (decision?: Decision): number => seen.push(decision?.policies.map(({ policy }) => policy));
  @Controller()
  class Chain {
    @Get('*rest')
    @RateLimit({ ...TEN, name: 'first' })
    first(@RateLimitDecision() decision: Decision, @Next() next: () => void): void {
      names(decision);
      next();
    }

    @Get('last')
    @RateLimit({ ...TEN, name: 'second' })
    last(@RateLimitDecision() decision: Decision): void {
      names(decision);
    }
  }
  await using app = await begin('Express', Chain);
  expect((await app.send('/last')).status).toBe(200);
  expect(seen).toEqual([['first'], ['first', 'second']]);
});

it('what a decision has charged is told of decisions of RateLimiter as well, and not of copies', async () => {
  await using app = await begin('Express', []);
  const limiter = app.app.get(RateLimiter);
  const ada = { kind: 'user', value: 'ada' };
  expect(chargedBy(await limiter.consume(TEN, ada, { cost: 4 }))).toEqual([{ policy: 'ten', cost: 4 }]);
  expect(chargedBy(await limiter.consume(TEN, ada, { cost: 7 }))).toEqual([]);
  const peeked = await limiter.peek(TEN, ada);
  expect(chargedBy(peeked)).toEqual([]);
  const copy = JSON.parse(JSON.stringify(peeked)) as Decision;
  expect(() => chargedBy(copy)).toThrow('chargedBy: takes a decision of the guard or of RateLimiter, got a copy');
});

describe('the decorator', () => {
  it('says so where it has no parentheses, or stands on a constructor', () => {
    expect(() => {
      class Wrong {
        list(@(RateLimitDecision as unknown as ParameterDecorator) decision: unknown): unknown {
          return decision;
        }
      }
      return Wrong;
    }).toThrow('Wrong.list: @RateLimitDecision needs its parentheses: @RateLimitDecision()');
    expect(() => {
      class Wrong {
        constructor(@RateLimitDecision() readonly decision: unknown) {}
      }
      return Wrong;
    }).toThrow('Wrong: @RateLimitDecision belongs on a parameter of a method that handles requests');
  });

  it('warns where the module is not imported', async () => {
    @Controller()
    class Alone {
      @Get()
      list(@RateLimitDecision() decision: unknown): object {
        return { got: decision ?? 'nothing' };
      }
    }
    await using app = await start('Express', { controllers: [Alone] });
    expect((await app.send('/')).body).toEqual({ got: 'nothing' });
    expect(app.logs.of('warn')).toEqual([
      expect.stringContaining(
        'Alone.list: @RateLimitDecision is always undefined, because RateLimitModule is not imported',
      ),
    ]);
  });
});
