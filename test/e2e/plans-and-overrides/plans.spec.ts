import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { RateLimiter } from 'nestjs-floodgate';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';
import {
  API,
  app,
  type HeaderRequest,
  LIMITS,
  limitOf,
  passing,
  planOf,
  Routes,
  user,
  userOf,
} from '../support/planned-routes.js';

const redis = useRedis();

describe.each(KINDS)('over $platform with $store, plans', (kind) => {
  const { platform } = kind;
  const options = () => storeOf(kind, redis);

  it.each<[string, (request: HeaderRequest) => string | Promise<string>]>([
    ['at once', planOf],
    ['later', async (request) => (await delay(2), planOf(request))],
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

  it('let a window carry on when the plan changes, also past its denial, and begin a bucket afresh', async () => {
    const plans = new Map([['ada', 'free']]);
    await using http = await app(platform, options(), {
      resolve: (request: HeaderRequest) => plans.get(userOf(request)),
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

  it('are one call of resolve for many requests of a client at once', async () => {
    let calls = 0;
    const resolve = async (): Promise<string> => {
      calls++;
      await delay(5);
      return 'enterprise';
    };
    await using http = await app(platform, { ...options(), deadline: 5000 }, { resolve });
    expect(await http.crowd(200, '/api', { headers: { 'X-User-Id': 'ada' } })).toEqual({ 200: 9, 429: 191 });
    expect(calls).toBe(1);
    const { plans, functionFailures } = http.app.get(RateLimiter).stats();
    expect(functionFailures.plan).toBe(0);
    expect(plans.cache + plans.resolver).toBe(200);
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
    const route = await limiter.peek([Routes, 'api'], user('pro-7'));
    expect(route.policies).toMatchObject([{ plan: 'pro', limit: 5, remaining: 4 }]);
    const other = await limiter.peek([Routes, 'api'], user('pro-7'), { plan: null });
    expect(other.policies[0]).toMatchObject({ limit: 2, remaining: 2 });
    expect(other.policies[0]).not.toHaveProperty('plan');

    expect(await limiter.reset('app-api', user('pro-7'))).toEqual([{ policy: 'app-api', scope: 'app', found: true }]);
    for (const [plan, limit] of [
      ['pro', 5],
      ['enterprise', 9],
      [null, 2],
    ] as const) {
      const after = await limiter.peek('app-api', user('pro-7'), { plan });
      expect(after.policies[0]!.remaining).toBe(limit);
    }
    expect(await limiter.reset([Routes, 'api'], user('pro-7'))).toEqual([
      { policy: 'api', scope: 'GET /api', found: true },
    ]);
    expect((await limiter.peek([Routes, 'api'], user('pro-7'))).policies[0]!.remaining).toBe(5);
  });
});
