import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import {
  type Policy,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS } from '../../support/http-app.js';
import { useOneNode } from '../../support/faults/by-node.js';
import { useRedis } from '../../support/redis-fixture.js';

jest.setTimeout(20_000);

const ADA = { kind: 'user', value: 'ada' };
const API = {
  name: 'api',
  algorithm: 'fixed-window',
  limit: 10,
  window: '300d',
  by: 'user',
  scope: 'app',
  priorities: { rides: 1, estimates: 0.5 },
} as const satisfies Policy;

const planOf = ({ headers }: RateLimitRequest<{ headers: Record<string, unknown> }>): string | undefined =>
  headers['x-user-id'] === 'ada' ? 'pro' : undefined;

/** Two routes of one policy, and one whose function says the class. */
function routesOf(policy: Policy): Type {
  @Controller()
  class Routes {
    @Get('ride')
    @RateLimit(policy)
    ride(): void {}

    @Get('estimate')
    @RateLimit({ ...policy, priority: 'estimates' })
    estimate(): void {}

    @Get('either')
    @RateLimit({
      ...policy,
      priority: ({ query }: RateLimitRequest<{ query: Record<string, string | undefined> }>) => query.class,
    })
    either(): void {}
  }
  return Routes;
}

const redis = useRedis();
const STORES: Readonly<Record<string, () => RateLimitModuleOptions>> = {
  memory: () => ({}),
  Redis: () => ({ redis: redis.server.url }),
};
const KINDS = PLATFORMS.flatMap((platform) => Object.keys(STORES).map((store) => ({ platform, store })));

describe.each(KINDS)('priorities over $platform with $store, beside', ({ platform, store }) => {
  const served = (policy: Policy, more: RateLimitModuleOptions = {}): Promise<HttpApp> =>
    limited(platform, routesOf(policy), { identity: FROM_HEADERS, ...STORES[store]!(), ...more });

  /** How many of so many requests pass, one after the other. */
  async function passing(app: HttpApp, path: string, times: number, user = 'ada'): Promise<number> {
    let passed = 0;
    for (let i = 0; i < times; i++) passed += Number((await app.as(user, path)).status === 200);
    return passed;
  }

  it('the denial cache: a rejected estimate says nothing of a ride', async () => {
    await using app = await served(API, { denialCache: '1s' });
    expect(await passing(app, '/estimate', 8)).toBe(5);
    expect(await passing(app, '/either?class=estimates', 2)).toBe(0);
    expect(await passing(app, '/either?class=rides', 1)).toBe(1);
    expect(await passing(app, '/ride', 8)).toBe(4);
    expect(await passing(app, '/estimate', 2)).toBe(0);
  });

  it('plans: the part is one of the plan', async () => {
    const policy: Policy = { ...API, plans: { pro: { limit: 20 } } };
    await using app = await served(policy, { plan: { resolve: planOf } });
    expect(await passing(app, '/either?class=estimates', 11)).toBe(10);
    expect(await passing(app, '/estimate', 6, 'bob')).toBe(5);
    expect(await passing(app, '/ride', 11)).toBe(10);
    const { policies } = await app.app.get(RateLimiter).peek(policy, ADA, { plan: 'pro', priority: 'estimates' });
    expect(policies[0]).toMatchObject({ plan: 'pro', priority: 'estimates', limit: 10, remaining: 0 });
  });

  it('overrides: the part is one of the override, and one below 1 is refused', async () => {
    await using app = await served(API);
    const overrides = app.app.get(RateLimitOverrides);
    const target = { policy: 'api', identity: ADA };
    await expect(overrides.set(target, { limit: 1 })).rejects.toThrow(
      'priorities.estimates: 0.5 of the limit 1 is less than 1, so no request of the class ever passes',
    );
    await overrides.set(target, { limit: 4 });
    expect(await passing(app, '/either?class=estimates', 3)).toBe(2);
    expect(await passing(app, '/estimate', 1)).toBe(0);
    expect(await passing(app, '/ride', 3)).toBe(2);
    const { policies } = await app.app.get(RateLimiter).explain({ policy: 'api' }, ADA, { priority: 'estimates' });
    expect(policies[0]).toMatchObject({ isRejected: true, priority: 'estimates', level: { limit: 2, remaining: 0 } });
    await overrides.set(target, { exempt: true });
    expect(await passing(app, '/estimate', 3)).toBe(3);
    await overrides.set(target, { blocked: true });
    expect(await passing(app, '/ride', 1)).toBe(0);
  });

  it('a candidate and a shadow: each class has its part of their limit', async () => {
    await using app = await served({ ...API, candidate: { limit: 4 } });
    expect(await passing(app, '/either?class=estimates', 4)).toBe(4);
    expect(await passing(app, '/ride', 3)).toBe(3);
    const { shadows } = app.app.get(RateLimiter).stats();
    expect(shadows).toEqual([
      { policy: 'api.candidate', algorithm: 'fixed-window', priority: 'rides', requests: 3, allowed: 2, rejected: 1 },
      {
        policy: 'api.candidate',
        algorithm: 'fixed-window',
        priority: 'estimates',
        requests: 4,
        allowed: 2,
        rejected: 2,
      },
    ]);
    await using shadow = await served({ ...API, name: 'tried', mode: 'shadow' });
    expect(await passing(shadow, '/estimate', 7)).toBe(7);
    expect(shadow.app.get(RateLimiter).stats().shadows).toContainEqual(
      expect.objectContaining({ policy: 'tried', priority: 'estimates', allowed: 5, rejected: 2 }),
    );
  });

  it('reservations: a refund is free for the class again, and a settlement may exceed its part', async () => {
    await using app = await served(API, { policies: { budget: { ...API, name: undefined } as Policy } });
    const limiter = app.app.get(RateLimiter);
    const reserve = (cost: number) => limiter.reserve('budget', ADA, { cost, priority: 'estimates' });
    const first = await reserve(5);
    expect(first.allowed).toBe(true);
    expect((await reserve(1)).allowed).toBe(false);
    await first.settle(2);
    const second = await reserve(3);
    expect(second.allowed).toBe(true);
    await second.settle(6);
    expect((await limiter.consume('budget', ADA, { cost: 2 })).allowed).toBe(true);
    expect((await limiter.consume('budget', ADA)).allowed).toBe(false);
  });

  it('a leaky bucket: a class waits in its part of the places', async () => {
    await using app = await limited(
      platform,
      routesOf({
        algorithm: 'leaky-bucket',
        name: 'queue',
        capacity: 4,
        drain: 4,
        by: 'user',
        scope: 'app',
        priorities: API.priorities,
      }),
      { identity: FROM_HEADERS, ...STORES[store]!() },
    );
    const crowd = await Promise.all(Array.from({ length: 6 }, () => app.as('ada', '/estimate')));
    // One departs at once, and two wait.
    expect(crowd.filter(({ status }) => status === 200)).toHaveLength(3);
    const rejected = crowd.find(({ status }) => status === 429)!;
    expect(Number(rejected.headers['retry-after'])).toBe(1);
  });
});

describe('priorities on a Cluster', () => {
  const node = useOneNode();

  it('leave the reserve of a policy beside one of another slot, and charge neither for a rejected request', async () => {
    const policies = { own: { ...API, name: undefined }, all: { ...API, name: undefined, by: 'global' } } as never;
    await using app = await limited('Express', routesOf(API), { redis: node.client, policies, denialCache: 0 });
    const limiter = app.app.get(RateLimiter);
    const passes = async (value: string, priority: string): Promise<boolean> =>
      (await limiter.consume(['own', 'all'], { kind: 'user', value }, { priority })).allowed;
    const users = Array.from({ length: 12 }, (_, i) => `user-${i}`);
    const estimates = await Promise.all(users.map((user) => passes(user, 'estimates')));
    expect(estimates.filter(Boolean)).toHaveLength(5);
    const rides = await Promise.all(users.map((user) => passes(user, 'rides')));
    expect(rides.filter(Boolean)).toHaveLength(5);
    for (const [i, value] of users.entries()) {
      const { policies: left } = await limiter.peek('own', { kind: 'user', value });
      expect(left[0]).toMatchObject({ remaining: 10 - Number(estimates[i]) - Number(rides[i]) });
    }
  });
});
