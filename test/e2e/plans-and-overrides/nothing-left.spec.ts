import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, type RateLimitModuleOptions, RateLimitOverrides } from 'nestjs-floodgate';
import { ALL_ALGORITHMS, SMALL_POLICIES } from '../../support/algorithm-of.js';
import { FROM_HEADERS, type HttpApp, limited } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';
import { planOf, user } from '../support/planned-routes.js';

/** What a limit of 0 is called in a policy. */
const NOTHING = (policy: Policy): object => ('capacity' in policy ? { capacity: 0 } : { limit: 0 });

const WINDOW = { algorithm: 'fixed-window', window: '300d', by: 'user' } as const;

function routesOf(...policies: Policy[]): Type {
  @Controller()
  class Routes {
    @Get()
    @RateLimit(...(policies as [Policy]))
    get(): string {
      return 'passed';
    }
  }
  return Routes;
}

const redis = useRedis();

describe.each(KINDS)('over $platform with $store, a limit of 0', (kind) => {
  const app = (policies: Policy[], options: RateLimitModuleOptions = {}): Promise<HttpApp> =>
    limited(kind.platform, routesOf(...policies), {
      identity: FROM_HEADERS,
      ...storeOf(kind, redis),
      ...(policies.some(({ plans }) => plans !== undefined) && { plan: { resolve: planOf } }),
      ...options,
    });

  it.each(ALL_ALGORITHMS)('of a plan for a %s rejects everything, and says no time', async (name) => {
    const own: Policy = { ...SMALL_POLICIES[name], name: 'api', by: 'user' };
    await using http = await app([{ ...own, plans: { none: NOTHING(own) } }]);
    expect((await http.as('free-1', '/')).status).toBe(200);
    for (let i = 0; i < 2; i++) {
      const { status, headers, body } = await http.as('none-1', '/');
      expect(status).toBe(429);
      expect(headers).not.toHaveProperty('retry-after');
      expect(headers).toMatchObject({
        'x-ratelimit-limit': '0',
        'x-ratelimit-remaining': '0',
        'cache-control': 'no-store',
      });
      expect(body).toEqual({
        statusCode: 429,
        error: 'rate_limit_exceeded',
        message: 'The rate limit is 0',
        retry_after: null,
        retry_after_ms: null,
        policy: 'api',
      });
    }
    expect(http.logs.of('warn')).toEqual([]);
    const limiter = http.app.get(RateLimiter);
    expect(limiter.stats()).toMatchObject({ requests: 3, allowed: 1, rejected: 2 });
    const { policies, passesAt, isRejected } = await limiter.explain('GET /', user('none-1'));
    expect({ passesAt, isRejected }).toEqual({ passesAt: null, isRejected: true });
    expect(policies[0]).toMatchObject({ plan: { name: 'none' }, numbers: NOTHING(own), passesAt: null });
  });

  it.each(ALL_ALGORITHMS)('of an override for a %s holds until it is removed', async (name) => {
    const own: Policy = { ...SMALL_POLICIES[name], name: 'api', by: 'user' };
    await using http = await app([own]);
    const overrides = http.app.get(RateLimitOverrides);
    const target = { policy: 'api', identity: user('ada') };
    await overrides.set(target, NOTHING(own));
    expect((await http.as('ada', '/')).status).toBe(429);
    expect((await http.as('bob', '/')).status).toBe(200);
    await overrides.remove(target);
    expect((await http.as('ada', '/')).status).toBe(200);
  });

  it('is in the headers of the draft, which say no time either', async () => {
    const own: Policy = { ...WINDOW, name: 'api', limit: 5, plans: { none: { limit: 0 } } };
    await using http = await app([own], { headers: 'draft-11' });
    expect((await http.as('none-1', '/')).headers).toMatchObject({
      'ratelimit-policy': `"api";q=0;w=${300 * 86_400}`,
      ratelimit: '"api";r=0',
    });
  });

  it('comes from a database, and goes with what its policy has besides', async () => {
    const credits: Policy = { ...WINDOW, name: 'credits', limit: 1 };
    const classed: Policy = { ...WINDOW, name: 'classed', limit: 9, priorities: { high: 1, low: 0.5 }, plans: {} };
    for (const [policies, expected] of [
      [[{ ...WINDOW, name: 'first', limit: 5, else: 'credits', plans: {} }], [200, 429]],
      [[{ ...classed, priority: 'high' }], [429, 429]],
      [[{ ...classed, priority: 'low' }], [429, 429]],
      [[{ ...WINDOW, name: 'blocking', limit: 5, blockFor: '1h', plans: {} }], [429, 429]],
      [[{ ...WINDOW, name: 'dear', limit: 5, cost: 5, plans: {} }], [429, 429]],
      [[{ ...WINDOW, name: 'free', limit: 5, cost: 0, plans: {} }], [429, 429]],
      [[{ ...WINDOW, name: 'settled', limit: 5, countIf: () => true, plans: {} }], [429, 429]],
      [[{ ...WINDOW, name: 'shadow', limit: 5, mode: 'shadow', plans: {} }], [200, 200]],
      [
        [credits, { ...WINDOW, name: 'beside', limit: 5, plans: {} }],
        [429, 429],
      ],
    ] as const satisfies readonly (readonly [Policy[], number[]])[]) {
      await using http = await app([...policies], {
        policies: { credits: { ...credits, scope: 'app' } },
        plan: { resolve: () => ({ limit: 0 }) },
      });
      const seen = await http.statuses(2, '/', { headers: { 'X-User-Id': `${policies[0].name}-1` } });
      expect([policies[0].name, ...seen]).toEqual([policies[0].name, ...expected]);
      expect(http.app.get(RateLimiter).stats().functionFailures.plan).toBe(0);
    }
  });

  it('of a policy for all clients, split into shards, holds for all of them', async () => {
    await using http = await app([{ ...WINDOW, name: 'all', by: 'global', limit: 8, shards: 4 }]);
    expect((await http.send('/')).status).toBe(200);
    await http.app.get(RateLimitOverrides).set({ policy: 'all' }, { limit: 0 });
    expect(await http.statuses(3, '/')).toEqual([429, 429, 429]);
  });

  it('lets no scheduled call wait for what never comes', async () => {
    const own: Policy = { ...WINDOW, limit: 5, scope: 'app' };
    await using http = await app([{ ...own, name: 'other' }], { policies: { partner: own } });
    await http.app.get(RateLimitOverrides).set({ policy: 'partner', identity: user('ada') }, { limit: 0 });
    await expect(http.app.get(RateLimiter).schedule('partner', user('ada'), () => 1)).rejects.toMatchObject({
      code: 'FG_CALL_NEVER_FITS',
      message: expect.stringContaining("cost 1 never fits policy 'partner', which lets 0 pass at most"),
    });
  });
});

it.each<Policy>([
  { name: 'api', algorithm: 'token-bucket', capacity: 100, refill: 1, by: 'user', prefetch: { for: '100ms', max: 10 } },
  { ...WINDOW, name: 'api', limit: 100, prefetch: { for: '100ms', max: 10 } },
])('of a plan prefetches nothing: %j', async (policy) => {
  const planned = { ...policy, plans: { none: NOTHING(policy) } } as Policy;
  await using http = await limited('Express', routesOf(planned), {
    identity: FROM_HEADERS,
    redis: redis.server.url,
    deadline: '10s',
    plan: { resolve: planOf },
  });
  expect(await http.crowd(30, '/', { headers: { 'X-User-Id': 'none-1' } })).toEqual({ 429: 30 });
  expect(await http.crowd(30, '/', { headers: { 'X-User-Id': 'free-1' } })).toEqual({ 200: 30 });
  expect(http.logs.of('warn')).toEqual([]);
});

it('of a plan holds without the store as well', async () => {
  const planned: Policy = { ...WINDOW, name: 'api', limit: 100, plans: { none: { limit: 0 } } };
  const store = {
    consume: (): never => {
      throw new Error('away');
    },
    reset: (): void => undefined,
  };
  await using http = await limited('Fastify', routesOf(planned), {
    identity: FROM_HEADERS,
    store,
    plan: { resolve: planOf },
  });
  expect((await http.as('free-1', '/')).status).toBe(200);
  const { status, headers } = await http.as('none-1', '/');
  expect([status, headers['retry-after']]).toEqual([429, undefined]);
});

it('is no limit of a policy itself', async () => {
  await expect(limited('Express', routesOf({ ...WINDOW, name: 'api', limit: 0 }))).rejects.toThrow(
    'limit must be a whole number from 1 to 1000000000000, got 0',
  );
});
