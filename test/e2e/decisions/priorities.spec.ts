import { setImmediate as turn } from 'node:timers/promises';
import { Controller, Get, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  MemoryStore,
  type Policy,
  type PolicySource,
  RateLimit,
  RateLimiter,
  type RateLimitRequest,
  type RateLimitStore,
} from 'nestjs-floodgate';
import { left, limited, limitHeaders } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { StillStore } from '../../support/still-store.js';

type Asked = RateLimitRequest<{ query: Record<string, string | undefined> }>;

/** What rides and estimates share: estimates leave half of it to the rides. */
const MATCHING = {
  name: 'matching',
  algorithm: 'fixed-window',
  limit: 10,
  window: '1m',
  by: 'global',
  scope: 'app',
  priorities: { rides: 1, estimates: 0.5 },
} as const satisfies Policy;

@Controller()
class Rides {
  @Get('ride')
  @RateLimit(MATCHING)
  ride(): void {}

  @Get('estimate')
  @RateLimit({ ...MATCHING, priority: 'estimates' })
  estimate(): void {}
}

/** As `Rides`, of one policy of the module. */
@Controller()
class Named {
  @Get('ride')
  @RateLimit('matching')
  ride(): void {}

  @Get('estimate')
  @RateLimit({ policy: 'matching', priority: 'estimates' })
  estimate(): void {}

  @Get('either')
  @RateLimit({ policy: 'matching', priority: ({ query }: Asked) => query.class })
  either(): void {}
}

function routeWith(policy: PolicySource): Type {
  @Controller()
  class Search {
    @Get()
    @RateLimit(policy)
    get(): void {}
  }
  return Search;
}

const OF_QUERY = { ...MATCHING, priority: ({ query }: Asked) => query.class } satisfies Policy;

describe('priorities', () => {
  it.each([
    ['policies', Rides],
    ['a policy of the module, and uses of it', Named],
  ])('reject the lower class while the rest stays free for the higher one: %s', async (_, routes) => {
    const policies = { matching: MATCHING };
    await using app = await limited('Express', routes, { store: new StillStore(), policies });
    expect(await app.statuses(6, '/estimate')).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await app.statuses(6, '/ride')).toEqual([200, 200, 200, 200, 200, 429]);
  });

  it('tell the part of the class: limit, remaining, the wait and the class', async () => {
    await using app = await limited('Express', Rides, { store: new StillStore(), headers: 'x-ratelimit+draft-11' });
    const first = await app.send('/estimate');
    expect(left(first)).toBe(4);
    expect(limitHeaders(first)).toContain('x-ratelimit-limit');
    expect(first.headers['ratelimit-policy']).toBe('"matching";q=5;w=60');
    expect((await app.send('/ride')).headers['ratelimit-policy']).toBe('"matching";q=10;w=60');
    const second = await app.send('/estimate');
    expect(second.headers['ratelimit-policy']).toBe('"matching";q=5;w=60');
    for (let i = 0; i < 2; i++) await app.send('/estimate');
    const rejected = await app.send('/estimate');
    expect(rejected.body).toMatchObject({ statusCode: 429, policy: 'matching' });
    const decision = await app.app.get(RateLimiter).peek(MATCHING, null, { priority: 'estimates' });
    expect(decision.policies[0]).toMatchObject({ priority: 'estimates', limit: 5, remaining: 0, allowed: false });
    expect((await app.app.get(RateLimiter).peek(MATCHING, null)).policies[0]).toMatchObject({
      priority: 'rides',
      limit: 10,
      remaining: 5,
      allowed: true,
    });
  });

  it.each<[string, NonNullable<Policy['priority']>]>([
    ['a function of the request', OF_QUERY.priority],
    ['an asynchronous function', async (request: Asked) => (await turn(), OF_QUERY.priority(request))],
  ])('come from %s; without an answer it is the first class', async (_, priority) => {
    await using app = await limited('Express', routeWith({ ...MATCHING, priority }), { store: new StillStore() });
    expect(left(await app.send('/?class=estimates'))).toBe(4);
    expect(left(await app.send('/'))).toBe(8);
    expect(left(await app.send('/?class=rides'))).toBe(7);
  });

  it('make a request of an unknown class a logged 500, and charge nothing', async () => {
    const store = new StillStore();
    await using app = await limited('Express', routeWith(OF_QUERY), { store });
    expect((await app.send('/?class=vip')).status).toBe(500);
    expect(app.logs.of('error').join()).toContain("policy 'matching' has no class 'vip': it has 'rides', 'estimates'");
    expect(store.asked).toEqual([]);
  });

  it('stop the boot with a store that would give the reserve away', async () => {
    const store: RateLimitStore = { supports: ['shadow'], consume: () => new MemoryStore().consume([]), reset() {} };
    await expect(limited('Express', Rides, { store })).rejects.toThrow(
      "the store does not know priorities: use MemoryStore or RedisStore, or have your store's supports include 'headroom'",
    );
  });
});

describe('a use of a policy of the module with a class', () => {
  it('tells explain, peek and the table the class of the route', async () => {
    await using app = await limited('Express', Named, { store: new StillStore(), policies: { matching: MATCHING } });
    const limiter = app.app.get(RateLimiter);
    const { routes, named } = limiter.table();
    expect(routes.map(({ policies }) => policies[0]!.priority)).toEqual(['rides', 'estimates', 'function']);
    expect(named[0]).toMatchObject({ name: 'matching', priority: 'rides' });
    const { policies } = await limiter.explain('GET /estimate', { kind: 'user', value: 'ada' });
    expect(policies[0]).toMatchObject({ policy: 'matching', priority: 'estimates', level: { remaining: 5 } });
    expect((await limiter.peek([Named, 'estimate'])).policies[0]).toMatchObject({ priority: 'estimates', limit: 5 });
  });

  it.each<[object, string]>([
    [{ policy: 'machting', priority: 'estimates' }, "there is no policy named 'machting'. Did you mean 'matching'?"],
    [
      { policy: 'matching', priority: 'estimate' },
      "policy 'matching' has no class 'estimate': it has 'rides', 'estimates'",
    ],
    [{ policy: 'plain', priority: 'estimates' }, "priority has no effect, because policy 'plain' has no priorities"],
    [{ policy: 'matching' }, "a use of policy 'matching' needs a priority, got nothing: write 'matching' alone"],
    [{ policy: 'matching', priority: 5 }, 'priority must be the name of a class in priorities, or a function'],
    [
      { policy: MATCHING, priority: 'estimates' },
      'policy must be the name of one in the option policies, got an object',
    ],
    [{ policy: 'matching', priority: 'estimates', cost: 2 }, "'cost' is not an option of a use of a policy (got 2)"],
  ])('stops the boot for %j', async (source, message) => {
    const policies = {
      matching: MATCHING,
      plain: { algorithm: 'fixed-window', limit: 10, window: '300d' },
    } satisfies Record<string, Policy>;
    const boot = limited('Express', routeWith(source as PolicySource), { policies });
    await expect(boot).rejects.toThrow(message);
    await expect(boot).rejects.toThrow(/^Search\.get, @RateLimit: /);
  });
});

describe('priorities beside', () => {
  const redis = useRedis();
  // Redis's own clock turns no window over meanwhile.
  const POLICIES = { matching: { ...MATCHING, window: '300d' } } as const;

  it('the denial cache: a rejected estimate says nothing of a ride', async () => {
    const options = { policies: POLICIES, redis: redis.server.url, deadline: '10s', denialCache: '1s' } as const;
    await using app = await limited('Express', Named, options);
    expect(await app.statuses(8, '/estimate')).toEqual([...Array<number>(5).fill(200), 429, 429, 429]);
    expect(await app.statuses(2, '/either?class=estimates')).toEqual([429, 429]);
    expect(await app.statuses(1, '/either?class=rides')).toEqual([200]);
    expect(await app.statuses(8, '/ride')).toEqual([...Array<number>(4).fill(200), ...Array<number>(4).fill(429)]);
  });
});

describe('RateLimiter with priorities', () => {
  const rider = { kind: 'user', value: 'rider-1' };
  const API = { ...MATCHING, name: 'api', by: 'user' } satisfies Policy;

  it('takes the class of a call, keeps the calls of each class apart, and counts them in the stats', async () => {
    await using app = await limited('Express', Rides, { store: new StillStore(), policies: { api: API } });
    const limiter = app.app.get(RateLimiter);
    const passes = async (priority?: string): Promise<boolean> =>
      (await limiter.consume('api', rider, priority === undefined ? undefined : { priority })).allowed;
    for (let i = 0; i < 5; i++) expect(await passes('estimates')).toBe(true);
    expect(await passes('estimates')).toBe(false);
    expect(limiter.consumeSync('api', rider).allowed).toBe(true);
    const reservation = await limiter.reserve('api', rider, { priority: 'rides', cost: 4 });
    expect(reservation).toMatchObject({ allowed: true });
    expect(await passes()).toBe(false);
    await reservation.settle(0);
    expect(await passes('estimates')).toBe(false);
    expect(limiter.stats().policies).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ policy: 'api', priority: 'rides', requests: 3, rejected: 1 }),
        expect.objectContaining({ policy: 'api', priority: 'estimates', requests: 7, rejected: 2 }),
      ]),
    );
    const explained = await limiter.explain({ policy: 'api' }, rider, { priority: 'estimates' });
    expect(explained.policies[0]).toMatchObject({
      priority: 'estimates',
      isRejected: true,
      level: { limit: 5, used: 5 },
    });
    expect((await limiter.explain({ policy: 'api' }, rider)).policies[0]).toMatchObject({
      priority: 'rides',
      level: { limit: 10, used: 6 },
    });
  });

  it('refuses a class that has no effect, an unknown one, and to guess what a function would say', async () => {
    const policies = { api: API, plain: { algorithm: 'fixed-window', limit: 5, window: '1m' } } satisfies Record<
      string,
      Policy
    >;
    await using app = await limited('Express', Rides, { store: new StillStore(), policies });
    const limiter = app.app.get(RateLimiter);
    await expect(limiter.consume('plain', rider, { priority: 'rides' })).rejects.toThrow(
      "priority has no effect, because no policy of the call has priorities ('plain'), got 'rides'",
    );
    await expect(limiter.consume('api', rider, { priority: 'ride' })).rejects.toThrow("has no class 'ride'");
    await expect(limiter.consume({ ...API, name: 'asked', priority: () => 'rides' }, rider)).rejects.toThrow(
      "the priority of policy 'asked' is a function of a request: give { priority: 'rides' } outside of a request",
    );
    await expect(limiter.explain({ policy: 'plain' }, rider, { priority: 'rides' })).rejects.toThrow(
      'priority has no effect',
    );
  });
});
