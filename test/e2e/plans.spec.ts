import { setTimeout as delay } from 'node:timers/promises';
import { Controller, type ExecutionContext, Get, Injectable, Module } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type DecisionEvent,
  MemoryStore,
  type PlanOptions,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, type Platform, PLATFORMS, start } from '../support/http-app.js';
import { RedisServer } from '../support/redis-server.js';

const API: Policy = {
  name: 'api',
  algorithm: 'token-bucket',
  capacity: 2,
  refill: '1/h',
  by: 'user',
  plans: { pro: { capacity: 5 }, enterprise: { capacity: 9, refill: '2/h' } },
};
const DAILY = {
  name: 'daily',
  algorithm: 'fixed-window',
  limit: 3,
  window: '300d',
  by: 'user',
  plans: { pro: { limit: 6 } },
} as const satisfies Policy;
const PLAIN: Policy = { name: 'plain', algorithm: 'fixed-window', limit: 4, window: '300d', by: 'user' };
const LIMITS: Readonly<Record<string, number>> = { free: 2, pro: 5, enterprise: 9 };

@Controller()
class Routes {
  @Get('api')
  @RateLimit(API)
  api(): void {}

  @Get('daily')
  @RateLimit(DAILY)
  daily(): void {}

  @Get('both')
  @RateLimit(API, { ...DAILY, limit: 4, plans: { pro: { limit: 3 } } })
  both(): void {}

  @Get('plain')
  @RateLimit(PLAIN)
  plain(): void {}
}

/** The request's user, whose name says the plan: `pro-1`. */
function userOf(context: ExecutionContext): string {
  return context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-user-id'] ?? '';
}

const planOf = (context: ExecutionContext): string => userOf(context).split('-')[0]!;
const user = (value: string) => ({ kind: 'user', value });

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(() => server.stop());

const STORES: [string, () => RateLimitModuleOptions][] = [
  ['memory', () => ({ store: new MemoryStore() })],
  ['Redis', () => ({ redis: server.url, keyPrefix: `t${Math.random()}` })],
];
const EVERYWHERE = PLATFORMS.flatMap((platform) => STORES.map(([store, options]) => ({ platform, store, options })));

function app(platform: Platform, options: RateLimitModuleOptions, plan: Partial<PlanOptions> = {}): Promise<HttpApp> {
  return limited(platform, Routes, { identity: FROM_HEADERS, ...options, plan: { resolve: planOf, ...plan } });
}

/** How many of 12 requests at once pass. */
async function passing(http: HttpApp, name: string, path = '/api'): Promise<number | undefined> {
  return (await http.crowd(12, path, { headers: { 'X-User-Id': name } }))[200];
}

/** The limit that the headers say. */
async function limitOf(http: HttpApp, name: string, path = '/api'): Promise<number> {
  return Number((await http.as(name, path)).headers['x-ratelimit-limit']);
}

describe.each(EVERYWHERE)('over $platform with $store, plans', ({ platform, options }) => {
  it.each<[string, (context: ExecutionContext) => string | Promise<string>]>([
    ['at once', planOf],
    ['later', async (context) => (await delay(2), planOf(context))],
  ])('that resolve says %s are limits of their own', async (_, resolve) => {
    await using http = await app(platform, options(), { resolve });
    for (const [plan, limit] of Object.entries(LIMITS)) {
      expect(await passing(http, `${plan}-1`)).toBe(limit);
      const rejected = await http.as(`${plan}-1`, '/api');
      expect(rejected.status).toBe(429);
      expect(rejected.headers['x-ratelimit-limit']).toBe(String(limit));
      expect(rejected.body).toMatchObject({ policy: 'api' });
      expect(await passing(http, `${plan}-2`)).toBe(limit); // each client has one
    }
  });

  it('stand in one step with other policies, with and without plans', async () => {
    await using http = await app(platform, options());
    expect(await passing(http, 'free-1', '/both')).toBe(2);
    expect(await passing(http, 'pro-1', '/both')).toBe(3);
    expect(await passing(http, 'enterprise-1', '/both')).toBe(4); // the window's own numbers
    expect(await passing(http, 'pro-1', '/plain')).toBe(4);
  });

  it('let a window carry on when the plan changes, also past its denial, and begin a bucket afresh', async () => {
    const plans = new Map([['ada', 'free']]);
    await using http = await app(platform, options(), {
      resolve: (context) => plans.get(userOf(context)),
      cacheFor: 1,
    });
    expect(await passing(http, 'ada', '/daily')).toBe(3);
    expect((await http.as('ada', '/daily')).status).toBe(429);
    plans.set('ada', 'pro');
    await delay(2);
    expect(await passing(http, 'ada', '/daily')).toBe(3);
    plans.set('ada', 'free');
    await delay(2);
    expect(await passing(http, 'ada', '/daily')).toBeUndefined();

    expect(await passing(http, 'ada')).toBe(2);
    plans.set('ada', 'pro');
    await delay(2);
    expect(await passing(http, 'ada')).toBe(5);
  });

  it('change within cacheFor', async () => {
    let plan = 'pro';
    await using http = await app(platform, options(), { resolve: async () => plan, cacheFor: '300ms' });
    expect(await limitOf(http, 'ada')).toBe(5);
    plan = 'enterprise';
    const since = performance.now();
    while ((await limitOf(http, 'ada')) === 5) expect(performance.now() - since).toBeLessThan(2000);
    // A request that was sent before and answered after is not late.
    expect(performance.now() - since).toBeLessThan(600);
  });

  it('are one call of resolve for thousands of requests of a client at once', async () => {
    let calls = 0;
    const resolve = async (): Promise<string> => {
      calls++;
      await delay(5);
      return 'enterprise';
    };
    await using http = await app(platform, { ...options(), deadlineMs: 5000 }, { resolve });
    expect(await http.crowd(2000, '/api', { headers: { 'X-User-Id': 'ada' } })).toEqual({ 200: 9, 429: 1991 });
    expect(calls).toBe(1);
    const { plans, functionFailures } = http.app.get(RateLimiter).stats();
    expect(functionFailures.plan).toBe(0);
    expect(plans.cache + plans.resolver).toBe(2000);
  });

  it('are those of code as well: named, last known or fallback; peeked at and reset', async () => {
    await using http = await app(
      platform,
      { ...options(), policies: { 'app-api': { ...API, name: 'app-api', scope: 'app' } } },
      { fallback: 'enterprise' },
    );
    const limiter = http.app.get(RateLimiter);
    const limits = async (...args: Parameters<RateLimiter['consume']>): Promise<unknown[]> => {
      const { policies } = await limiter.consume(...args);
      return policies.map(({ limit, plan }) => [limit, plan]);
    };
    expect(await limits('app-api', user('pro-7'), { plan: 'pro' })).toEqual([[5, 'pro']]);
    expect(await limits('app-api', user('pro-7'))).toEqual([[9, 'enterprise']]); // not known yet
    expect(await limitOf(http, 'pro-7')).toBe(5);
    expect(await limits('app-api', user('pro-7'))).toEqual([[5, 'pro']]);
    expect(await limits('app-api', user('pro-7'), { plan: null })).toEqual([[2, undefined]]);
    expect(await limits('app-api', user('pro-7'), { plan: 'gold' })).toEqual([[2, undefined]]);

    const peeked = await limiter.peek('app-api', user('pro-7'));
    expect(peeked.policies).toMatchObject([{ plan: 'pro', limit: 5, remaining: 3 }]);
    const named = await limiter.peek('app-api', user('pro-7'), { plan: 'enterprise' });
    expect(named.policies).toMatchObject([{ plan: 'enterprise', limit: 9, remaining: 8 }]);
    const route = await limiter.peekRoute(Routes, 'api', user('pro-7'));
    expect(route!.policies).toMatchObject([{ plan: 'pro', limit: 5, remaining: 4 }]);
    const other = await limiter.peekRoute(Routes, 'api', user('pro-7'), { plan: null });
    expect(other!.policies[0]).toMatchObject({ limit: 2, remaining: 2 });
    expect(other!.policies[0]).not.toHaveProperty('plan');

    expect(await limiter.reset('app-api', user('pro-7'))).toEqual([{ policy: 'app-api', scope: 'app' }]);
    for (const [plan, limit] of [
      ['pro', 5],
      ['enterprise', 9],
      [null, 2],
    ] as const) {
      const after = await limiter.peek('app-api', user('pro-7'), { plan });
      expect(after.policies[0]!.remaining).toBe(limit);
    }
    expect(await limiter.resetRoute(Routes, 'api', user('pro-7'))).toEqual([{ policy: 'api', scope: 'GET /api' }]);
    expect((await limiter.peekRoute(Routes, 'api', user('pro-7')))!.policies[0]!.remaining).toBe(5);
  });
});

const hang = (): Promise<never> => new Promise(() => undefined);
const BAD: [string, () => never][] = [
  ['hangs', hang as () => never],
  [
    'throws',
    () => {
      throw new Error('no database');
    },
  ],
  ['rejects', (() => Promise.reject(new Error('no database'))) as () => never],
  ['returns a number', (() => 7) as unknown as () => never],
  ['resolves with an object', (async () => ({ name: 'pro' })) as unknown as () => never],
];

describe.each(EVERYWHERE)('over $platform with $store, a resolver that', ({ platform, options }) => {
  it.each(BAD)('%s means the fallback, within the deadline, with one call and one warning', async (_, resolve) => {
    let calls = 0;
    const counted = (): never => {
      calls++;
      return resolve();
    };
    await using http = await app(platform, options(), { resolve: counted, fallback: 'pro' });
    await http.as('ada', '/plain');
    const since = performance.now();
    expect(await limitOf(http, 'ada')).toBe(5);
    expect(performance.now() - since).toBeLessThan(500);
    expect(await passing(http, 'ada')).toBe(4);
    expect(calls).toBe(1);
    const { functionFailures, plans } = http.app.get(RateLimiter).stats();
    expect([functionFailures.plan, plans]).toEqual([1, { cache: 0, resolver: 0, lastKnown: 0, fallback: 13 }]);
    expect(http.logs.of('error')).toEqual([]);
    expect(
      http.logs.of('warn').filter((line) => line.startsWith('plan.resolve of RateLimitModule failed')),
    ).toHaveLength(1);
  });

  it.each(BAD)('%s after its first answer leaves the last known plan in force', async (_, resolve) => {
    let fails = false;
    await using http = await app(platform, options(), {
      resolve: () => (fails ? resolve() : 'enterprise'),
      cacheFor: '20ms',
      fallback: 'pro',
    });
    expect(await limitOf(http, 'ada')).toBe(9);
    fails = true;
    await delay(30);
    const since = performance.now();
    for (let i = 0; i < 5; i++) expect(await limitOf(http, 'ada')).toBe(9);
    expect(performance.now() - since).toBeLessThan(500); // the first one alone waits
    expect(http.app.get(RateLimiter).stats().plans).toMatchObject({ lastKnown: 5, fallback: 0 });
  });
});

describe.each(PLATFORMS)('over %s, the module', (platform) => {
  it('takes a resolver from what forRootAsync injects', async () => {
    @Injectable()
    class Tenants {
      private readonly plans = new Map([['ada', 'enterprise']]);

      resolve(context: ExecutionContext): Promise<string | undefined> {
        return Promise.resolve(this.plans.get(userOf(context)));
      }
    }
    @Module({ providers: [Tenants], exports: [Tenants] })
    class TenantsModule {}
    await using http = await start(platform, {
      imports: [
        RateLimitModule.forRootAsync({
          imports: [TenantsModule],
          inject: [Tenants],
          useFactory: (plan: Tenants) => ({
            identity: FROM_HEADERS,
            plan: { resolve: (context) => plan.resolve(context), cacheFor: '5m', fallback: 'pro' },
          }),
        }),
      ],
      controllers: [Routes],
    });
    expect(await limitOf(http, 'ada')).toBe(9);
    expect(await limitOf(http, 'bob')).toBe(2);
  });

  it('reaches the middleware, events and the headers of every format', async () => {
    const events: DecisionEvent[] = [];
    await using http = await limited(platform, Routes, {
      identity: FROM_HEADERS,
      headers: 'draft',
      middleware: [{ ...DAILY, name: 'all', scope: 'app' }],
      plan: { resolve: planOf },
      onDecision: (event) => void events.push(event),
    });
    const { headers } = await http.as('pro-1', '/api');
    expect(headers['ratelimit-policy']).toContain('"all";q=6');
    expect(headers['ratelimit-policy']).toContain('"api";q=5');
    expect(events.map(({ decision }) => decision.policies.map(({ plan, policy }) => [policy, plan]))).toEqual([
      [['all', 'pro']],
      [['api', 'pro']],
    ]);
    const { policies } = http.app.get(RateLimiter).stats();
    expect(policies.map(({ policy }) => policy).toSorted()).toEqual(['all', 'api', 'daily', 'plain']);
  });

  it('divides the numbers of a plan while the store is unavailable', async () => {
    const failing = { consume: () => Promise.reject(new Error('away')), reset: () => undefined };
    await using http = await app(platform, { store: failing, onStoreFailure: 'local', localShare: 2 });
    expect(await passing(http, 'enterprise-1')).toBe(4);
    expect(await passing(http, 'free-1')).toBe(1);
  });

  it.each<[Policy['by'], boolean]>([
    ['client', true],
    ['ip', true],
    ['user', false],
    [() => ({ kind: 'tenant', value: 'acme' }), false],
  ])('warns of plans of addresses: by %p', async (by, warns) => {
    @Controller()
    class Limited {
      @Get()
      @RateLimit({ ...API, by })
      get(): void {}
    }
    const identity = by === 'user' ? FROM_HEADERS : undefined;
    await using http = await limited(platform, Limited, {
      store: new MemoryStore(),
      plan: { resolve: planOf },
      identity,
    });
    const warning = "Limited.get, @RateLimit: policy 'api' has plans and counts addresses";
    expect(http.logs.of('warn').map((line) => line.startsWith(warning))).toEqual(warns ? [true] : []);
  });

  it.each<[string, Partial<RateLimitModuleOptions>, Policy, string]>([
    [
      'plans without plan',
      {},
      API,
      `Limited.get, @RateLimit: policy 'api' has plans, but nothing says which plan a client has: give RateLimitModule plan`,
    ],
    [
      'plan without plans',
      { plan: { resolve: planOf } },
      PLAIN,
      'RateLimitModule, plan: has no effect, because no policy',
    ],
    [
      'a fallback that no policy has',
      { plan: { resolve: planOf, fallback: 'prp' } },
      API,
      `fallback must be a plan of a policy, got 'prp'. Did you mean 'pro'? The plans are 'pro', 'enterprise'`,
    ],
    ['no resolver', { plan: {} as PlanOptions }, API, 'RateLimitModule, plan: resolve must be a function'],
    [
      'a wrong resolver',
      { plan: { resolve: 'pro' as never } },
      API,
      `resolve must be a function that returns the name of a plan, got 'pro'`,
    ],
    [
      'a wrong time',
      { plan: { resolve: planOf, cacheFor: '1x' } },
      API,
      "cacheFor must be milliseconds or a duration such as '1m', from 1 ms to 24 hours, got '1x'",
    ],
    ['too long a time', { plan: { resolve: planOf, cacheFor: '25h' } }, API, "got '25h'"],
    [
      'a wrong fallback',
      { plan: { resolve: planOf, fallback: '' } },
      API,
      "fallback must be the name of a plan, got ''",
    ],
    [
      'an unknown option',
      { plan: { resolve: planOf, cacheform: 1 } as never },
      API,
      "'cacheform' is not an option. Did you mean cacheFor?",
    ],
    ['no object', { plan: planOf as never }, API, 'RateLimitModule: plan must be an object such as'],
    [
      'a wrong plan',
      { plan: { resolve: planOf } },
      { ...API, plans: { pro: { capacity: 0 } } },
      'Limited.get, @RateLimit, plans.pro: capacity must be',
    ],
    [
      'a wrong plan of a named policy',
      { plan: { resolve: planOf }, policies: { n: { ...API, name: 'n', plans: { pro: { capacity: 0 } } } } },
      API,
      'RateLimitModule, policies.n, plans.pro: capacity must be',
    ],
  ])('does not boot with %s', async (_, options, policy, problem) => {
    @Controller()
    class Limited {
      @Get()
      @RateLimit(policy)
      get(): void {}
    }
    await expect(limited(platform, Limited, options)).rejects.toThrow(problem);
  });
});

describe('by code', () => {
  it('a plan that could have no effect is an error', async () => {
    await using http = await start('Express', {
      imports: [RateLimitModule.forRoot({ policies: { api: { ...API, name: 'api' }, plain: PLAIN } })],
    });
    const limiter = http.app.get(RateLimiter);
    await expect(limiter.consume('plain', user('ada'), { plan: 'pro' })).rejects.toThrow(
      "plan has no effect, because no policy of the call has plans ('plain'), got 'pro'",
    );
    await expect(limiter.consume('api', user('ada'), { plan: 5 as never })).rejects.toThrow(
      'plan must be the name of a plan, or null for none, got 5',
    );
    await expect(limiter.consume('api', user('ada'))).rejects.toThrow(
      "policy 'api' has plans, and nothing says which plan the client has: give { plan: 'pro' }",
    );
    await expect(limiter.peek('api', user('ada'), { cost: 2 } as never)).rejects.toThrow(
      "'cost' is not an option of RateLimiter.peek; the options are plan and timeZone",
    );
    const both = await limiter.consume(['plain', 'api'], user('ada'), { plan: 'pro' });
    expect(both.policies.map(({ limit, plan }) => [limit, plan])).toEqual([
      [4, undefined],
      [5, 'pro'],
    ]);
  });
});
