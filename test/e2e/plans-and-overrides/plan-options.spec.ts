import { Controller, Get, Injectable, Module } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { FROM_HEADERS, limited, start } from '../../support/http-app.js';
import { API, type HeaderRequest, limitOf, PLAIN, planOf, Routes, userOf } from '../support/planned-routes.js';

describe('the module', () => {
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
    await using http = await start('Express', {
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
    [
      'a wrong resolver',
      { plan: { resolve: 'pro' as never } },
      API,
      `resolve must be a function that returns the name of a plan, or numbers, got 'pro'`,
    ],
    [
      'a fallback where plans have numbers of the database alone',
      { plan: { resolve: planOf, fallback: 'pro' } },
      { ...API, plans: {} },
      `fallback must be a plan of a policy, got 'pro'. The plans are none; without a fallback`,
    ],
    [
      'a wrong timeout',
      { plan: { resolve: planOf, timeout: '1m' } },
      API,
      "timeout must be milliseconds or a duration such as '1s', from 1 ms to 30 s, got '1m'",
    ],
    [
      'a wrong time',
      { plan: { resolve: planOf, cacheFor: '1x' } },
      API,
      "cacheFor must be milliseconds or a duration such as '1m', from 1 ms to 24 hours, got '1x'",
    ],
  ])('does not boot with %s', async (_, options, policy, problem) => {
    @Controller()
    class Limited {
      @Get()
      @RateLimit(policy)
      get(): void {}
    }
    await expect(limited('Express', Limited, options)).rejects.toThrow(problem);
  });
});
