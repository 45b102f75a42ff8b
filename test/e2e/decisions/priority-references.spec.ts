import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type Policy,
  type PolicySource,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  type RateLimitRequest,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS } from '../../support/http-app.js';
import { Switch, untilLevel } from '../../support/shedding.js';
import { StillStore } from '../../support/still-store.js';

const POLICIES = {
  matching: {
    algorithm: 'fixed-window',
    limit: 10,
    window: '300d',
    by: 'global',
    scope: 'app',
    priorities: { rides: 1, estimates: 0.5 },
  },
  planned: {
    algorithm: 'fixed-window',
    limit: 4,
    window: '300d',
    by: 'user',
    scope: 'app',
    priorities: { rides: 1, estimates: 0.5 },
    plans: { pro: { limit: 20 } },
    candidate: { limit: 2 },
  },
  plain: { algorithm: 'fixed-window', limit: 10, window: '300d', scope: 'app' },
  tight: {
    algorithm: 'fixed-window',
    limit: 10,
    window: '300d',
    cost: 6,
    priorities: { rides: 1, estimates: 0.5 },
  },
} as const satisfies Record<string, Policy>;
const ADA = { kind: 'user', value: 'ada' };

type Asked = RateLimitRequest<{ query: Record<string, string | undefined> }>;

@Controller()
class Routes {
  @Get('ride')
  @RateLimit('matching')
  ride(): void {}

  @Get('estimate')
  @RateLimit({ policy: 'matching', priority: 'estimates' })
  estimate(): void {}

  @Get('either')
  @RateLimit({ policy: 'matching', priority: ({ query }: Asked) => query['class'] })
  either(): void {}

  @Get('planned')
  @RateLimit({ policy: 'planned', priority: 'estimates' })
  planned(): void {}
}

function open(
  platform: (typeof PLATFORMS)[number] = 'Express',
  options: RateLimitModuleOptions = {},
): Promise<HttpApp> {
  const plan = { resolve: ({ headers }: RateLimitRequest) => headers['x-plan'] as string | undefined };
  return limited(platform, Routes, {
    policies: POLICIES,
    identity: FROM_HEADERS,
    store: new StillStore(),
    plan,
    ...options,
  });
}

function routeWith(source: PolicySource, ...more: PolicySource[]): Type {
  @Controller()
  class Search {
    @Get('search')
    @RateLimit(source, ...more)
    get(): void {}

    @Get('open')
    @SkipRateLimit()
    open(): void {}

    @Get('bare')
    bare(): void {}
  }
  return Search;
}

async function passing(app: HttpApp, path: string, times = 12): Promise<number> {
  let passed = 0;
  for (let i = 0; i < times; i++) passed += Number((await app.as('ada', path)).status === 200);
  return passed;
}

describe.each(PLATFORMS)('over %s, a use of a named policy with a class of its own', (platform) => {
  it('shares the state, and leaves the rest of the limit free', async () => {
    await using app = await open(platform);
    expect(await passing(app, '/estimate')).toBe(5);
    expect(await passing(app, '/ride')).toBe(5);
  });

  it('takes a function of the request', async () => {
    await using app = await open(platform);
    expect(await passing(app, '/either?class=estimates')).toBe(5);
    expect(await passing(app, '/estimate')).toBe(0);
    expect((await app.send('/either?class=unknown')).status).toBe(500);
    expect(await passing(app, '/either')).toBe(5);
  });

  it('holds for plans, overrides and the candidate', async () => {
    await using app = await open(platform);
    expect(await passing(app, '/planned')).toBe(2);
    const { shadows } = app.app.get(RateLimiter).stats();
    expect(shadows).toMatchObject([
      { policy: 'planned.candidate', priority: 'rides', requests: 0 },
      { policy: 'planned.candidate', priority: 'estimates', requests: 12, rejected: 11 },
    ]);
    await app.app.get(RateLimitOverrides).set({ policy: 'planned', identity: ADA }, { limit: 8 });
    expect(await passing(app, '/planned')).toBe(2);
    let passed = 0;
    const headers = { 'X-User-Id': 'bob', 'X-Plan': 'pro' };
    for (let i = 0; i < 12; i++) passed += Number((await app.send('/planned', { headers })).status === 200);
    expect(passed).toBe(10);
  });

  it('tells explain, peek and the table the class of the route', async () => {
    await using app = await open(platform);
    const limiter = app.app.get(RateLimiter);
    const of = (name: string) => limiter.table().routes.find(({ route }) => route === `GET /${name}`)!.policies[0];
    expect(of('ride')).toMatchObject({ name: 'matching', priority: 'rides', scope: 'app' });
    expect(of('estimate')).toMatchObject({ name: 'matching', priority: 'estimates', scope: 'app' });
    expect(of('either')).toMatchObject({ name: 'matching', priority: 'function' });
    expect(limiter.table().named[0]).toMatchObject({ name: 'matching', priority: 'rides' });
    const { policies } = await limiter.explain('GET /estimate', ADA);
    expect(policies[0]).toMatchObject({ policy: 'matching', priority: 'estimates', level: { remaining: 5 } });
    expect((await limiter.peek([Routes, 'estimate'])).policies[0]).toMatchObject({ priority: 'estimates', limit: 5 });
    expect((await limiter.peek([Routes, 'ride'])).policies[0]).toMatchObject({ priority: 'rides', limit: 10 });
  });
});

describe('a use of a named policy with a class', () => {
  const ESTIMATES = { policy: 'matching', priority: 'estimates' } as const;

  it('stands in defaults, which the name skips and replaces', async () => {
    await using app = await limited('Express', routeWith('plain'), { policies: POLICIES, defaults: [ESTIMATES] });
    const limits = app.app
      .get(RateLimiter)
      .table()
      .routes.map(({ route, policies }) => [route, policies.map(({ name, priority }) => `${name} ${priority}`)]);
    expect(limits).toEqual([
      ['GET /search', ['plain null']],
      ['GET /open', []],
      ['GET /bare', ['matching estimates']],
    ]);

    @Controller()
    class Kept {
      @Get('kept')
      @RateLimit('plain', { defaults: 'keep' })
      kept(): void {}

      @Get('replaced')
      @RateLimit({ policy: 'matching', priority: 'rides' }, { defaults: 'keep' })
      replaced(): void {}

      @Get('skipped')
      @SkipRateLimit('matching')
      skipped(): void {}
    }
    await using kept = await limited('Express', Kept, { policies: POLICIES, defaults: [ESTIMATES] });
    expect(
      kept.app
        .get(RateLimiter)
        .table()
        .routes.map(({ policies }) => policies.map(({ name, priority }) => `${name} ${priority}`)),
    ).toEqual([['matching estimates', 'plain null'], ['matching rides'], []]);
  });

  it('stands in the middleware, and beside other policies', async () => {
    const { matching, ...others } = POLICIES;
    const middleware: PolicySource[] = [{ policy: 'address', priority: 'low' }];
    const address = { ...matching, by: 'ip', priorities: { high: 1, low: 0.2 } } as const satisfies Policy;
    const policies = { ...others, matching, address };
    await using app = await limited('Express', routeWith(ESTIMATES, 'plain'), {
      policies,
      middleware,
      store: new StillStore(),
    });
    expect(await passing(app, '/search')).toBe(2);
    expect(app.app.get(RateLimiter).table().middleware.policies).toMatchObject([{ name: 'address', priority: 'low' }]);
  });

  it('gives a request its class of shedding', async () => {
    await using app = await open('Express', { shed: new Switch().options({ classes: ['estimates'] }) });
    await untilLevel(app.app, 1);
    expect((await app.send('/estimate')).status).toBe(503);
    expect((await app.send('/ride')).status).toBe(200);
  });

  it.each<[string, object, string, string]>([
    [
      'an unknown policy',
      { policy: 'machting', priority: 'estimates' },
      "there is no policy named 'machting'. Did you mean 'matching'?",
      'FG_UNKNOWN_POLICY',
    ],
    [
      'an unknown class',
      { policy: 'matching', priority: 'estimate' },
      "priority: policy 'matching' has no class 'estimate': it has 'rides', 'estimates'. Did you mean 'estimates'?",
      'FG_INVALID_POLICY',
    ],
    [
      'a policy without priorities',
      { policy: 'plain', priority: 'estimates' },
      "priority has no effect, because policy 'plain' has no priorities: give it some, or write 'plain' alone",
      'FG_INVALID_POLICY',
    ],
    [
      'no class',
      { policy: 'matching' },
      "a use of policy 'matching' needs a priority, got nothing: write 'matching' alone for its own",
      'FG_INVALID_POLICY',
    ],
    [
      'a class that is a number',
      { policy: 'matching', priority: 5 },
      'priority must be the name of a class in priorities, or a function of the request that returns one, got 5',
      'FG_INVALID_POLICY',
    ],
    [
      'a policy that is no name',
      { policy: POLICIES.matching, priority: 'estimates' },
      "policy must be the name of one of the module's policies, got an object",
      'FG_INVALID_POLICY',
    ],
    [
      'another option',
      { policy: 'matching', priority: 'estimates', cost: 2 },
      "'cost' is not an option of a use of a policy (got 2)",
      'FG_UNKNOWN_OPTION',
    ],
    [
      'a cost that never fits the class',
      { policy: 'tight', priority: 'estimates' },
      "cost 6 never fits the part of the class 'estimates', which is 5 of 10",
      'FG_INVALID_POLICY',
    ],
  ])('stops the boot for %s', async (_, source, message, code) => {
    const boot = limited('Express', routeWith(source as PolicySource), { policies: POLICIES });
    await expect(boot).rejects.toThrow(message);
    await expect(boot).rejects.toThrow(/^Search\.get, @RateLimit: /);
    await expect(boot).rejects.toMatchObject({ code });
  });

  it('stops the boot for two classes of one policy on one route', async () => {
    const twice = limited('Express', routeWith('matching', ESTIMATES), { policies: POLICIES });
    await expect(twice).rejects.toThrow("two policies are named 'matching'");
  });
});
