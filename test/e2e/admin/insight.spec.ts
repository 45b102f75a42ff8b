import { describe, expect, it } from '@jest/globals';
import { RateLimiter, RateLimitOverrides } from 'nestjs-floodgate';
import { useRedis } from '../../support/redis-fixture.js';
import { ADA, open, Shop, START } from '../support/shop.js';

/** The end of the window of 300 days. */
const next = Math.ceil(START / (300 * 86_400_000)) * 300 * 86_400_000;

describe('RateLimiter.explain', () => {
  it('shows the level of each policy of a route and the next instant that passes, and charges nothing', async () => {
    await using http = await open('Express');
    const limiter = http.app.get(RateLimiter);
    for (let i = 0; i < 3; i++) await http.as('ada', '/shop');
    const before = limiter.stats();
    const first = await limiter.explain([Shop, 'list'], ADA);
    expect(await limiter.explain('GET /shop', 'user:ada')).toEqual(first);
    expect(await limiter.explain('Shop.list', ADA)).toEqual(first);
    expect(limiter.stats()).toEqual(before);
    expect(first).toMatchObject({
      identity: 'user:ada',
      at: new Date(START).toISOString(),
      route: { route: 'GET /shop', handler: 'Shop.list', guarded: true, chosen: false },
      isRejected: true,
      passesAt: new Date(next).toISOString(),
    });
    const [daily, address, all] = first.policies;
    expect(daily).toEqual({
      policy: 'daily',
      algorithm: 'fixed-window',
      scope: 'GET /shop',
      mode: 'enforce',
      numbers: { limit: 3, window: '300d' },
      counts: true,
      outcome: 'rejected',
      isRejected: true,
      cost: 1,
      level: { limit: 3, used: 3, remaining: 0, resetAfterMs: next - START },
      plan: null,
      timeZone: null,
      priority: null,
      insteadOf: null,
      override: null,
      block: null,
      decidedBy: 'store',
      pausedUntil: null,
      rejectedSince: null,
      retryAfterMs: next - START,
      passesAt: new Date(next).toISOString(),
    });
    // The middleware counts addresses: what it would say of a user is nothing.
    expect(address).toMatchObject({
      policy: 'address',
      outcome: 'not-counted',
      counts: false,
      level: null,
      decidedBy: null,
    });
    expect(all).toMatchObject({ policy: 'all', outcome: 'passes', level: { used: 3, limit: 50 } });
    expect((await http.as('ada', '/shop')).status).toBe(429);
  });

  it('names plan and override, with reason, author and end, and who decided', async () => {
    await using http = await open('Express');
    const limiter = http.app.get(RateLimiter);
    const overrides = http.app.get(RateLimitOverrides);
    const planned = async (options?: { plan: string | null }) =>
      (await limiter.explain([Shop, 'planned'], ADA, options)).policies.find(({ policy }) => policy === 'planned')!;
    expect(await planned()).toMatchObject({ plan: { name: null, isKnown: false }, level: { limit: 2 } });
    expect(await planned({ plan: 'pro' })).toMatchObject({
      plan: { name: 'pro', isKnown: true },
      level: { limit: 20 },
    });
    await http.as('ada', '/shop/planned');
    const lookups = limiter.stats().plans;
    expect(await planned()).toMatchObject({
      plan: { name: 'pro', isKnown: true },
      numbers: { capacity: 20, refill: '1/h' },
      level: { limit: 20, used: 1, remaining: 19 },
    });
    expect(limiter.stats().plans).toEqual(lookups);
    const target = { policy: 'planned', identity: ADA };
    await overrides.set(target, { capacity: 70 }, { expiresIn: '24h', reason: 'launch', author: 'eve' });
    const raised = await planned();
    expect(raised).toMatchObject({
      numbers: { capacity: 70, refill: '1/h' },
      level: { limit: 70, used: 0 },
      override: { change: { capacity: 70 }, scope: null, isComplete: true, reason: 'launch', author: 'eve' },
      decidedBy: 'store',
    });
    expect(Date.parse(raised.override!.expiresAt!) - Date.parse(raised.override!.setAt!)).toBe(86_400_000);
    await overrides.set({ ...target, scope: 'GET /shop/planned' }, { blocked: true });
    const blocked = await planned();
    expect(blocked).toMatchObject({
      outcome: 'blocked',
      isRejected: true,
      level: null,
      decidedBy: 'override',
      override: { scope: 'GET /shop/planned', expiresAt: null },
      retryAfterMs: null,
      passesAt: null,
    });
    expect(blocked.rejectedSince).toBe(blocked.override!.setAt);
    await overrides.set({ ...target, scope: 'GET /shop/planned' }, { exempt: true });
    expect(await planned()).toMatchObject({ outcome: 'exempt', isRejected: false, level: null, decidedBy: 'override' });
  });

  it('without a route shows every policy that counts such an identity, those that reject first', async () => {
    await using http = await open('Express');
    const limiter = http.app.get(RateLimiter);
    for (let i = 0; i < 2; i++) await limiter.consume('emails', ADA);
    const { policies, isRejected, route, passesAt } = await limiter.explain(null, ADA);
    expect([isRejected, route, passesAt]).toEqual([true, null, new Date(START + 3_600_000).toISOString()]);
    expect(policies[0]!.passesAt).toBe(passesAt);
    // The last of those that reject lets it pass; where none does, it is now.
    for (let i = 0; i < 3; i++) await http.as('ada', '/shop');
    const both = await limiter.explain(null, ADA);
    expect(both.policies.filter((one) => one.isRejected).map((one) => one.passesAt)).toEqual([
      passesAt,
      new Date(next).toISOString(),
    ]);
    expect(both.passesAt).toBe(new Date(next).toISOString());
    expect(await limiter.explain(null, { kind: 'user', value: 'bob' })).toMatchObject({
      isRejected: false,
      passesAt: new Date(START).toISOString(),
    });
    await http.app.get(RateLimitOverrides).set({ policy: 'emails', identity: ADA }, { blocked: true });
    expect(await limiter.explain(null, ADA)).toMatchObject({ isRejected: true, passesAt: null });
    await http.app.get(RateLimitOverrides).remove({ policy: 'emails', identity: ADA });
    expect(policies.map(({ policy, outcome, counts }) => [policy, outcome, counts])).toEqual([
      ['emails', 'rejected', true],
      ['daily', 'passes', true],
      ['all', 'passes', true],
      ['orders', 'passes', true],
      ['planned', 'passes', true],
      ['tenants', 'passes', null],
      ['twins', 'passes', true],
    ]);
    const names = async (kind: string) =>
      (await limiter.explain(null, { kind, value: '192.0.2.1' })).policies.map(({ policy }) => policy);
    // A user's policy counts the address of requests without a user.
    expect(await names('ip')).toEqual([
      'emails',
      'address',
      'daily',
      'all',
      'orders',
      'planned',
      'fixed',
      'tenants',
      'twins',
    ]);
    expect(await names('device')).toEqual(['emails', 'all', 'tenants']);
  });

  it.each(['key:sk_live_1', 'key:#short'])(
    'refuses the tag %p, which no API key has, and does not show it',
    async (tag) => {
      await using http = await open('Express');
      const limiter = http.app.get(RateLimiter);
      const overrides = http.app.get(RateLimitOverrides);
      const { policy } = limiter
        .table()
        .routes.flatMap(({ policies }) => policies.map(({ name }) => ({ policy: name })))[0]!;
      for (const refused of [
        limiter.explain(null, tag),
        limiter.reset({ policy }, tag),
        overrides.set({ policy, identity: tag }, { exempt: true }),
      ]) {
        const error = await refused.catch((thrown: Error) => thrown);
        expect(error).toMatchObject({ name: 'RateLimitConfigError', code: 'FG_INVALID_IDENTITY' });
        expect((error as Error).message).toContain("give { kind: 'api-key', value: '...' }");
        expect((error as Error).message).not.toMatch(/sk_live|short/);
      }
      expect(await overrides.history()).toMatchObject({ items: [] });
      const { identity } = await limiter.explain(null, { kind: 'api-key', value: 'sk_live_1' });
      expect((await limiter.explain(null, identity)).identity).toBe(identity);
    },
  );
});

describe('with Redis', () => {
  const redis = useRedis();

  it('explains by the clock of Redis, in one process what another one has counted', async () => {
    await using one = await open('Express', { redis: redis.server.url, deadline: '10s' });
    await using other = await open('Fastify', { redis: redis.server.url, deadline: '10s' });
    for (let i = 0; i < 3; i++) expect((await one.as('ada', '/shop')).status).toBe(200);
    const explained = await other.app.get(RateLimiter).explain('GET /shop', ADA);
    expect(Math.abs(Date.parse(explained.at) - Date.now())).toBeLessThan(5000);
    expect(explained.policies[0]).toMatchObject({ outcome: 'rejected', decidedBy: 'store', level: { used: 3 } });
    await other.app.get(RateLimiter).reset('GET /shop', ADA);
    expect(await other.app.get(RateLimiter).explain('GET /shop', ADA)).toMatchObject({ isRejected: false });
  });
});
