import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type PlanAnswer,
  type Policy,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
  RateLimitOverrides,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';
import { type HeaderRequest, limitOf, user, userOf } from '../support/planned-routes.js';

const DAILY: Policy = {
  name: 'daily',
  algorithm: 'fixed-window',
  limit: 2,
  window: '300d',
  by: 'user',
  plans: { pro: { limit: 5 } },
};
const BUCKET: Policy = {
  name: 'bucket',
  algorithm: 'token-bucket',
  capacity: 1,
  refill: '1/h',
  by: 'user',
  plans: {},
};

@Controller()
class Routes {
  @Get('daily')
  @RateLimit(DAILY)
  daily(): void {}

  @Get('bucket')
  @RateLimit(BUCKET)
  bucket(): void {}
}

const redis = useRedis();

describe.each(KINDS)('over $platform with $store, numbers of a database', (kind) => {
  const rows = new Map<string, PlanAnswer>([
    ['ada', { limit: 7 }],
    ['bob', { daily: { limit: 6 }, bucket: { capacity: 4, refill: '2/h' } }],
    ['eve', 'pro'],
    ['ian', { limit: -1 }],
  ]);
  const app = (options: RateLimitModuleOptions = {}): Promise<HttpApp> =>
    limited(kind.platform, Routes, {
      identity: FROM_HEADERS,
      ...storeOf(kind, redis),
      ...options,
      plan: { resolve: async (request: HeaderRequest) => rows.get(userOf(request)) },
    });
  const passing = async (http: HttpApp, name: string, path: string): Promise<number | undefined> =>
    (await http.crowd(12, path, { headers: { 'X-User-Id': name } }))[200];

  it('are limits of their own, beside named plans, for all policies or by name', async () => {
    await using http = await app();
    expect([await passing(http, 'ada', '/daily'), await limitOf(http, 'ada', '/daily')]).toEqual([7, 7]);
    expect([await passing(http, 'bob', '/daily'), await passing(http, 'bob', '/bucket')]).toEqual([6, 4]);
    expect([await passing(http, 'eve', '/daily'), await passing(http, 'eve', '/bucket')]).toEqual([5, 1]);
    expect([await passing(http, 'sam', '/daily'), await passing(http, 'sam', '/bucket')]).toEqual([2, 1]);
    expect(http.app.get(RateLimiter).stats().functionFailures.plan).toBe(0);
  });

  it('are peeked at, explained, reset, and the rest of an override', async () => {
    await using http = await app();
    const limiter = http.app.get(RateLimiter);
    expect(await passing(http, 'bob', '/bucket')).toBe(4);
    const [peeked] = (await limiter.peek([Routes, 'bucket'], user('bob'))).policies;
    expect(peeked).toMatchObject({ limit: 4, remaining: 0 });
    expect(peeked).not.toHaveProperty('plan');
    const { policies } = await limiter.explain('GET /bucket', user('bob'));
    expect(policies).toMatchObject([
      { numbers: { capacity: 4, refill: '2/h' }, plan: { name: null, isKnown: true }, isRejected: true },
    ]);
    expect(await limiter.reset([Routes, 'bucket'], user('bob'))).toEqual([
      { policy: 'bucket', scope: 'GET /bucket', found: true },
    ]);
    expect(await passing(http, 'bob', '/bucket')).toBe(4);
    await http.app.get(RateLimitOverrides).set({ policy: 'bucket', identity: user('bob') }, { capacity: 6 });
    const overridden = await limiter.explain('GET /bucket', user('bob'));
    expect(overridden.policies[0]!.numbers).toEqual({ capacity: 6, refill: '2/h' });
    expect(await passing(http, 'bob', '/bucket')).toBe(6);
    expect(limiter.table().routes.flatMap((route) => route.policies.map(({ plans }) => plans))).toContainEqual({});
  });

  it('that are wrong are a failure of the look-up: never a 500', async () => {
    await using http = await app();
    expect(await passing(http, 'ian', '/daily')).toBe(2);
    // Right for one policy, and not for the other.
    expect(await passing(http, 'ada', '/daily')).toBe(7);
    expect(await passing(http, 'ada', '/bucket')).toBe(1);
    expect(http.app.get(RateLimiter).stats().functionFailures.plan).toBe(2);
    expect(http.logs.of('warn').find((line) => line.includes('plan.resolve'))).toContain(
      "counts: policy 'daily' of GET /daily: limit must be a whole number from",
    );
  });
});
