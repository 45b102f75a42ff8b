import { Controller, Get } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import {
  type OverrideChange,
  type Policy,
  RateLimit,
  type RateLimitExceededBody,
  RateLimiter,
  RateLimitOverrides,
} from 'nestjs-floodgate';
import { FROM_HEADERS, left, limited } from '../../support/http-app.js';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { useRedis } from '../../support/redis-fixture.js';
import { ADA, BOB, overrideCases, Routes, serviceOf, statuses } from '../support/overridden-routes.js';

jest.setTimeout(20_000);

const redis = useRedis();

describe.each(overrideCases(() => redis.server.url))('overrides over %s with %s', (platform, _store, options) => {
  const service = () => serviceOf(platform, options());

  it('raises one client at once, and nobody else', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    expect(await statuses(http, '/bucket', 4)).toEqual([200, 200, 200, 429]);
    const set = await overrides.set({ policy: 'api', identity: ADA }, { capacity: 5 }, { expiresIn: '24h' });
    // A denial from before is not cached beyond the change. A changed bucket begins full.
    expect(await statuses(http, '/bucket', 6)).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await statuses(http, '/bucket', 4, 'bob')).toEqual([200, 200, 200, 429]);
    expect(set).toMatchObject({ policy: 'api', identity: 'user:ada', scope: undefined, change: { capacity: 5 } });
    expect(set.expiresAtMs! - set.setAtMs).toBe(86_400_000);
    expect(Math.abs(set.setAtMs - Date.now())).toBeLessThan(5000);
  });

  it('shows the other limit in headers and decisions', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    const { version } = await overrides.set({ policy: 'api', identity: ADA }, { capacity: 50 });
    const reply = await http.as('ada', '/bucket');
    expect([reply.headers['x-ratelimit-limit'], left(reply)]).toEqual(['50', 49]);
    const limiter = http.app.get(RateLimiter);
    await overrides.set({ policy: 'coded', identity: ADA }, { refill: '2/h' });
    const decision = await limiter.consume('coded', ADA);
    expect(decision.policies[0]).toMatchObject({ limit: 3, remaining: 2, override: expect.any(Number) });
    expect(decision.policies[0]!.override).toBeGreaterThan(version);
    const { policies } = await limiter.consume('coded', BOB);
    expect(policies[0]).not.toHaveProperty('override');
  });

  it('goes on counting in a window whose limit changes', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    expect(await statuses(http, '/window', 4)).toEqual([200, 200, 200, 429]);
    await overrides.set({ policy: 'daily', identity: ADA }, { limit: 5 });
    expect(await statuses(http, '/window', 3)).toEqual([200, 200, 429]);
    await overrides.set({ policy: 'daily', identity: ADA }, { limit: 1 });
    expect(await statuses(http, '/window', 1)).toEqual([429]);
    expect(await overrides.remove({ policy: 'daily', identity: ADA })).toBe(true);
    expect(await statuses(http, '/window', 1)).toEqual([429]);
  });

  it('begins afresh in a window of another length, and goes on in the first one after it', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    expect(await statuses(http, '/window', 2)).toEqual([200, 200]);
    await overrides.set({ policy: 'daily', identity: ADA }, { window: '301d' });
    expect(await statuses(http, '/window', 4)).toEqual([200, 200, 200, 429]);
    await overrides.remove({ policy: 'daily', identity: ADA });
    expect(await statuses(http, '/window', 2)).toEqual([200, 429]);
  });

  it('gives a bucket at most one capacity of the new numbers, once for each change', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    expect(await statuses(http, '/bucket', 4)).toEqual([200, 200, 200, 429]);
    const target = { policy: 'api', identity: ADA };
    for (let i = 0; i < 2; i++) {
      await overrides.set(target, { capacity: 5 });
      // Equal numbers use the bucket that is already there.
      expect(await statuses(http, '/bucket', 6)).toEqual(i === 0 ? [200, 200, 200, 200, 200, 429] : Array(6).fill(429));
      await overrides.remove(target);
      expect(await statuses(http, '/bucket', 1)).toEqual([429]);
    }
  });

  it('exempts a client from one policy of several', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'one', identity: ADA }, { exempt: true });
    await overrides.set({ policy: 'two', identity: ADA }, { limit: 5 });
    expect(await statuses(http, '/both', 6)).toEqual([200, 200, 200, 200, 200, 429]);
    await overrides.set({ policy: 'two', identity: ADA }, { exempt: true });
    const reply = await http.as('ada', '/both');
    expect(reply.status).toBe(200);
    expect(Object.keys(reply.headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
    // Nothing was charged for the exempt policy.
    await overrides.remove({ policy: 'one', identity: ADA });
    expect(left(await http.as('ada', '/both'))).toBe(2);
    const { overridden, sources } = http.app.get(RateLimiter).stats();
    expect(overridden).toEqual({ changed: 6, exempt: 9, blocked: 0 });
    expect(sources).toMatchObject({ override: 1 });
  });

  it('blocks a client without charging another policy', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'two', identity: ADA }, { blocked: true });
    const forever = await http.as('ada', '/both');
    expect(forever.status).toBe(429);
    expect(forever.headers).not.toHaveProperty('retry-after');
    expect(forever.body).toMatchObject({ message: 'The client is blocked', retry_after: null, policy: 'two' });
    await overrides.set({ policy: 'two', identity: ADA }, { blocked: true }, { expiresIn: '1h' });
    const blocked = await http.as('ada', '/both');
    expect([blocked.status, blocked.headers['retry-after']]).toEqual([429, '3600']);
    expect((blocked.body as RateLimitExceededBody).policy).toBe('two');
    await overrides.remove({ policy: 'two', identity: ADA });
    expect(left(await http.as('ada', '/both'))).toBe(2);
    const { policies, overridden, rejected } = http.app.get(RateLimiter).stats();
    expect([overridden.blocked, rejected]).toEqual([2, 2]);
    const tally = (name: string) => policies.find(({ policy }) => policy === name);
    expect(tally('two')).toMatchObject({ requests: 3, rejected: 2, allowed: 1 });
    expect(tally('one')).toMatchObject({ requests: 1, rejected: 0, allowed: 1 });
  });

  it('is obeyed by RateLimiter and by peeks', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    const limiter = http.app.get(RateLimiter);
    await limiter.consume('coded', ADA); // its charge is kept for the next one
    await overrides.set({ policy: 'coded', identity: ADA }, { blocked: true }, { expiresIn: '1m' });
    const blocked = await limiter.consume('coded', ADA);
    expect(blocked).toMatchObject({ allowed: false, decidedBy: 'override', policies: [{ remaining: 0, limit: 3 }] });
    expect(blocked.retryAfterMs).toBeLessThanOrEqual(60_000);
    expect(blocked.retryAfterMs).toBeGreaterThan(50_000);
    expect((await limiter.peek('coded', ADA)).allowed).toBe(false);
    expect((await limiter.peek('coded', BOB)).policies[0]!.remaining).toBe(3);
    await overrides.set({ policy: 'coded', identity: ADA }, { exempt: true });
    expect(await limiter.consume('coded', ADA)).toMatchObject({ allowed: true, policies: [], retryAfterMs: 0 });
    await overrides.set({ policy: 'api', identity: ADA }, { capacity: 7 });
    expect((await limiter.peek([Routes, 'bucket'], ADA)).policies[0]!.remaining).toBe(7);
  });

  it('survives reset, which clears the changed bucket', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    const limiter = http.app.get(RateLimiter);
    await http.as('ada', '/bucket');
    const target = { policy: 'api', identity: ADA };
    await overrides.set(target, { capacity: 5 });
    await statuses(http, '/bucket', 6);
    await limiter.reset('coded', ADA);
    await limiter.reset([Routes, 'bucket'], ADA);
    expect(left(await http.as('ada', '/bucket'))).toBe(4);
    expect(await overrides.get(target)).toMatchObject({ change: { capacity: 5 } });
    await overrides.remove(target);
    expect(left(await http.as('ada', '/bucket'))).toBe(2); // the policy's own bucket was cleared as well
  });

  it('changes a policy that counts all clients together, and one scope of a policy', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'all' }, { capacity: 2 });
    expect(await statuses(http, '/all', 2)).toEqual([200, 200]);
    expect(await statuses(http, '/all', 1, 'bob')).toEqual([429]);
    await overrides.set({ policy: 'api', identity: ADA }, { blocked: true });
    await overrides.set({ policy: 'api', identity: ADA, scope: 'GET /bucket' }, { capacity: 1 });
    expect(await statuses(http, '/bucket', 2)).toEqual([200, 429]);
  });

  it('delays by the numbers of an override', async () => {
    await using http = await service();
    await http.app.get(RateLimitOverrides).set({ policy: 'queue', identity: ADA }, { drain: 10 });
    const since = performance.now();
    const replies = await Promise.all([1, 2, 3].map(() => http.as('ada', '/queue')));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(performance.now() - since).toBeGreaterThan(190);
  });
});

it('ends by the clock of a store that a test drives', async () => {
  const clock = new VirtualClock();
  await using http = await limited('Express', Routes, { identity: FROM_HEADERS, store: new VirtualStore(clock) });
  const overrides = http.app.get(RateLimitOverrides);
  const target = { policy: 'daily', identity: ADA };
  await overrides.set(target, { limit: 1_000 }, { expiresIn: '24h' });
  await overrides.set({ ...target, policy: 'api' }, { blocked: true }, { expiresIn: '24h' });
  const limit = async (): Promise<unknown> => (await http.as('ada', '/window')).headers['x-ratelimit-limit'];
  clock.advance(24 * 3_600_000 - 1);
  expect(await limit()).toBe('1000');
  expect((await http.as('ada', '/bucket')).headers['retry-after']).toBe('1');
  expect(await overrides.get(target)).toMatchObject({ change: { limit: 1_000 } });
  clock.advance(1);
  expect(await limit()).toBe('3');
  expect((await http.as('ada', '/bucket')).status).toBe(200);
  expect([await overrides.get(target), (await overrides.list()).items]).toEqual([undefined, []]);
  expect(http.app.get(RateLimiter).stats().overrides).toEqual({ count: 0, loaded: true });
});

it('is obeyed by the middleware, which charges a request before its route does', async () => {
  await using http = await limited('Express', Routes, {
    identity: FROM_HEADERS,
    policies: { gate: { algorithm: 'fixed-window', limit: 1, window: '300d' } },
    middleware: ['gate'],
  });
  const overrides = http.app.get(RateLimitOverrides);
  const both = async (): Promise<number[]> => [
    (await http.as('ada', '/bucket')).status,
    (await http.as('ada', '/bucket')).status,
  ];
  expect(await both()).toEqual([200, 429]);
  await overrides.set({ policy: 'gate', identity: ADA }, { exempt: true });
  expect(await both()).toEqual([200, 200]);
  await overrides.set({ policy: 'gate', identity: ADA }, { blocked: true });
  expect(await both()).toEqual([429, 429]);
});

it.each<[change: OverrideChange, after: number, dear: number, cost: number]>([
  [{ capacity: 50 }, 49, 40, 10],
  [{ refill: '2/h' }, 99, 90, 10],
  [{ capacity: 1000 }, 999, 880, 120], // more than fits without the override
])(
  'is charged the difference that a route costs beyond the middleware, where it is %p',
  async (change, after, dear, cost) => {
    const gate: Policy = {
      algorithm: 'token-bucket',
      capacity: 100,
      refill: '1/h',
      scope: 'app',
      cost: (_, context) => (context.getHandler().name === 'dear' ? cost : 1),
    };
    @Controller()
    class Gated {
      @Get('cheap')
      @RateLimit('gate')
      cheap(): void {}

      @Get('dear')
      @RateLimit('gate')
      dear(): void {}
    }
    await using http = await limited('Express', Gated, {
      identity: FROM_HEADERS,
      policies: { gate },
      middleware: ['gate'],
    });
    await http.app.get(RateLimitOverrides).set({ policy: 'gate', identity: ADA }, change);
    await http.app.get(RateLimitOverrides).set({ policy: 'gate', identity: BOB }, change);
    expect(left(await http.as('ada', '/cheap'))).toBe(after);
    // The numbers of a bucket are part of its key.
    expect(left(await http.as('bob', '/dear'))).toBe(dear);
  },
);
