import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
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
import { FROM_HEADERS, limited, PLATFORMS, start } from '../../support/http-app.js';
import {
  API,
  app,
  DAILY,
  type HeaderRequest,
  limitOf,
  passing,
  PLAIN,
  planOf,
  Routes,
  userOf,
} from '../support/planned-routes.js';

describe.each(PLATFORMS)('over %s, the module', (platform) => {
  it('takes a resolver from what forRootAsync injects', async () => {
    @Injectable()
    class Tenants {
      private readonly plans = new Map([['ada', 'enterprise']]);

      resolve(request: HeaderRequest): Promise<string | undefined> {
        return Promise.resolve(this.plans.get(userOf(request)));
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
            plan: { resolve: (request: HeaderRequest) => plan.resolve(request), cacheFor: '5m', fallback: 'pro' },
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
