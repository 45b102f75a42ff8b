import {
  type CallHandler,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  type NestInterceptor,
  Req,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  chargedBy,
  type Decision,
  type Policy,
  type PolicySource,
  RateLimit,
  RateLimitDecision,
  rateLimitDecisionOf,
  RateLimiter,
  type RateLimitModuleOptions,
  type RateLimitRequest,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { type HttpApp, limited, PLATFORMS } from '../../support/http-app.js';
import { until } from '../../support/faults/until.js';
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
  });

  it('nothing where no policy was asked', async () => {
    @Controller()
    class Free {
      @Get('skipped')
      @SkipRateLimit()
      skipped(@RateLimitDecision() decision: Decision | undefined): object {
        return { got: decision ?? 'nothing' };
      }

      @Get('listed')
      @RateLimit(TEN)
      listed(@RateLimitDecision() decision: Decision | undefined): object {
        return { got: decision ?? 'nothing' };
      }
    }
    await using app = await begin(platform, Free, { allowList: ['127.0.0.1'] });
    for (const path of ['/skipped', '/listed']) {
      expect((await app.send(path)).body).toEqual({ got: 'nothing' });
    }
    expect(app.logs.of('warn')).toEqual([
      'Free.skipped: @RateLimitDecision is always undefined there, because no policy limits a route: add @RateLimit RateLimit',
    ]);
  });

  it("the module's middleware and its own policies in one decision", async () => {
    @Controller()
    class Routes {
      @Get('both')
      @RateLimit({ ...TEN, cost: 2 }, { ...TEN, name: 'soft', mode: 'shadow' })
      both(@RateLimitDecision() decision: Decision): Told {
        return told(decision);
      }
    }
    const store = new StillStore();
    const middleware: PolicySource[] = ['all', { ...GLOBAL, name: 'try', limit: 1, mode: 'shadow' }];
    await using app = await begin(platform, Routes, { store, middleware, policies: { all: GLOBAL } });
    const both = await ask(app, '/both');
    expect(both.decision!.policies.map(({ policy, remaining }) => [policy, remaining])).toEqual([
      ['all', 99],
      ['ten', 8],
    ]);

    expect(both.charged).toEqual([
      { policy: 'all', cost: 1 },
      { policy: 'ten', cost: 2 },
      { policy: 'try', cost: 1 },
      { policy: 'soft', cost: 1 },
    ]);
  });

  it('the decision at admission, whatever it settles later', async () => {
    const later: unknown[] = [];
    @Controller()
    class Settled {
      @Get()
      @RateLimit({ ...TEN, cost: 6, settle: () => 2 })
      settled(@RateLimitDecision() decision: Decision, @Req() request: object): Told {
        later.push(request);
        return told(decision);
      }
    }
    await using app = await begin(platform, Settled);
    const settled = await ask(app, '/');
    expect(settled).toMatchObject({ decision: { policies: [{ remaining: 4 }] }, charged: [{ cost: 6 }] });
    const limiter = app.app.get(RateLimiter);
    const left = async () => (await limiter.peek([Settled, 'settled'], 'ip:127.0.0.1')).policies[0]!.remaining;
    await until('it is settled', 5_000, async () => (await left()) === 8);
    expect(JSON.parse(JSON.stringify(rateLimitDecisionOf(later[0] as object)))).toEqual(settled.decision);
  });

  it('never the decision of another request, however many run at once', async () => {
    const costs = Array.from({ length: 60 }, (_, i) => i + 1);
    let arrived = 0;
    let open!: () => void;
    const all = new Promise<void>((resolve) => (open = resolve));
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
        if (++arrived === costs.length) open();
        await all; // Every request has its decision before one of them looks at its own.
        expect(rateLimitDecisionOf(request)).toBe(decision);
        return { left: decision.policies[0]!.remaining, charged: chargedBy(decision)[0]!.cost };
      }
    }
    await using app = await begin(platform, Echo);
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

it('what a decision has charged is told of decisions of RateLimiter as well, and not of copies', async () => {
  await using app = await begin('Express', []);
  const limiter = app.app.get(RateLimiter);
  const ada = { kind: 'user', value: 'ada' };
  expect(chargedBy(await limiter.consume(TEN, ada, { cost: 4 }))).toEqual([{ policy: 'ten', cost: 4 }]);
  expect(chargedBy(await limiter.consume(TEN, ada, { cost: 7 }))).toEqual([]);
  const peeked = await limiter.peek(TEN, ada);
  expect(chargedBy(peeked)).toEqual([]);
  const copy = JSON.parse(JSON.stringify(peeked)) as Decision;
  expect(() => chargedBy(copy)).toThrow('chargedBy: takes a decision as it was made, got a copy');
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
});
