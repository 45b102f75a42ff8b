import { describe, expect, it, jest } from '@jest/globals';
import { RateLimiter, RateLimitOverrides } from 'nestjs-floodgate';
import { PLATFORMS } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { StillStore } from '../../support/still-store.js';
import { ADA, open, Shop, START } from '../support/shop.js';

jest.setTimeout(20_000);

/** The end of the window of 300 days. */
const next = Math.ceil(START / (300 * 86_400_000)) * 300 * 86_400_000;

describe.each(PLATFORMS)('over %s, RateLimiter.explain', (platform) => {
  it('shows the level of each policy of a route and the next instant that passes, and charges nothing', async () => {
    await using http = await open(platform);
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

  it('asks for the cost of the policy, and rounds the instant up to a millisecond', async () => {
    const store = new StillStore();
    await using http = await open(platform, { store });
    const limiter = http.app.get(RateLimiter);
    await http.as('ada', '/shop/orders', { method: 'POST' });
    store.advance(0.5);
    await http.as('ada', '/shop/orders', { method: 'POST' });
    const { policies, passesAt } = await limiter.explain([Shop, 'order'], ADA);
    expect(policies[0]).toMatchObject({ cost: 2, outcome: 'rejected', level: { used: 4, remaining: 0, limit: 4 } });
    expect(passesAt).toBe(new Date(START + 120_000).toISOString());
    store.advance(119_999.4);
    expect((await http.as('ada', '/shop/orders', { method: 'POST' })).status).toBe(429);
    store.advance(0.1);
    expect((await http.as('ada', '/shop/orders', { method: 'POST' })).status).toBe(201);
  });

  it('names plan and override, with reason, author and end, and who decided', async () => {
    await using http = await open(platform);
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
    await using http = await open(platform);
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

  it('says who decides without a store, and what nobody knows', async () => {
    const failing = new StillStore();
    failing.consume = () => {
      throw new Error('gone');
    };
    await using http = await open(platform, { store: failing });
    const limiter = http.app.get(RateLimiter);
    const [order] = (await limiter.explain([Shop, 'order'], ADA)).policies;
    expect(order).toMatchObject({
      outcome: 'unavailable',
      isRejected: true,
      decidedBy: 'closed',
      level: null,
      passesAt: null,
    });
    const list = await limiter.explain([Shop, 'list'], ADA);
    expect(list.policies.map(({ decidedBy }) => decidedBy)).toEqual([null, 'local', 'local']);
  });

  it("needs no identity for policies that are by: 'global'", async () => {
    await using http = await open(platform);
    const limiter = http.app.get(RateLimiter);
    const ofAda = await limiter.explain({ policy: 'all' }, ADA);
    for (const own of [await limiter.explain({ policy: 'all' }), await limiter.explain({ policy: 'all' }, null)]) {
      expect(own).toMatchObject({ identity: 'global:all', policies: [{ policy: 'all', counts: true }] });
      expect(own.policies).toEqual(ofAda.policies);
    }
    await expect(limiter.explain('GET /shop')).rejects.toThrow("or a tag such as 'user:rider-1', got undefined");
    await expect(limiter.explain(null, null)).rejects.toThrow('got null');
  });

  it('refuses what it cannot explain, and says what would be right', async () => {
    await using http = await open(platform);
    const limiter = http.app.get(RateLimiter);
    const explain = limiter.explain.bind(limiter) as (...args: unknown[]) => Promise<unknown>;
    for (const [args, message] of [
      [[null, 'ada'], "identity must be { kind, value } or a tag such as 'user:rider-1', got 'ada'"],
      [[null, 'user:{a}'], "got 'user:{a}'"],
      [[null, undefined], 'got undefined'],
      [[null, { kind: 'User', value: 'a' }], 'its kind must be'],
      [['GET /shpo', ADA], "there is no route named 'GET /shpo'. Did you mean 'GET /shop'?"],
      [['dialy', ADA], "there is no policy named 'dialy'. Did you mean 'daily'?"],
      [[7, ADA], "route must be [Controller, 'method'] or a name"],
      [[[Shop, 'nothing'], ADA], 'Shop.nothing is no handler'],
      [['Shop.list', ADA, { plan: 'pro' }], 'plan has no effect, because none of the policies has plans'],
      [['Shop.planned', ADA, { plan: 7 }], 'plan must be the name of a plan, or null for none, got 7'],
      [['Shop.planned', ADA, { plna: 'pro' }], "'plna' is not an option of RateLimiter.explain"],
    ] as const) {
      await expect(explain(...args)).rejects.toThrow(message);
    }
  });

  it.each(['key:sk_live_1', 'api-key:sk_live_1', 'key:#short', `key:sk_live_1${'x'.repeat(100)}`, 'key:sk_live_1:{}'])(
    'refuses the tag %p, which no API key has, and does not show it',
    async (tag) => {
      await using http = await open(platform);
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

describe.each(PLATFORMS)('over %s, RateLimiter.peek, reset and explain', (platform) => {
  it('clears what a request to a route meets, but nothing that all clients share', async () => {
    await using http = await open(platform);
    const limiter = http.app.get(RateLimiter);
    const take = async () => [(await http.as('ada', '/shop')).status, (await http.as('ada', '/twins')).status];
    for (let i = 0; i < 4; i++) await take();
    expect(await take()).toEqual([429, 429]);
    const cleared = [
      { policy: 'address', scope: 'app' },
      { policy: 'daily', scope: 'GET /shop' },
    ];
    expect(await limiter.reset([Shop, 'list'], ADA)).toEqual(cleared);
    expect(await take()).toEqual([200, 429]);
    expect((await limiter.explain('GET /shop', ADA)).policies).toContainEqual(
      expect.objectContaining({ policy: 'all', level: expect.objectContaining({ used: 4 }) }),
    );
    expect(await limiter.reset('twins', 'user:ada')).toEqual([{ policy: 'twins', scope: 'Twins /twins' }]);
    expect(await take()).toEqual([200, 200]);
    expect(await limiter.reset({ route: 'GET /shop' }, ADA)).toEqual(cleared);
    expect(await limiter.reset({ policy: 'all' }, ADA)).toEqual([{ policy: 'all', scope: 'GET /shop' }]);
    await expect(limiter.reset({ policy: 'dialy' }, ADA)).rejects.toThrow("Did you mean 'daily'?");
    await expect(limiter.reset('GET /nowhere', ADA)).rejects.toThrow("there is no route named 'GET /nowhere'");
  });

  it('take a route in each form, with the policies of the middleware that count the identity', async () => {
    await using http = await open(platform);
    const limiter = http.app.get(RateLimiter);
    expect((await http.as('ada', '/shop')).status).toBe(200);
    const own = await limiter.peek([Shop, 'list'], ADA);
    const left = own.policies.map(({ policy, limit, remaining }) => `${policy} ${limit - remaining}`);
    expect(left).toEqual(['daily 1', 'all 1']);
    for (const route of ['GET /shop', 'Shop.list', { route: 'GET /shop' }, { route: [Shop, 'list'] }] as const) {
      expect((await limiter.peek(route, 'user:ada')).policies).toMatchObject(
        own.policies.map(({ policy, remaining }) => ({ policy, remaining })),
      );
    }
    const address = { kind: 'ip', value: '192.0.2.1' };
    const names = (await limiter.peek('GET /shop', address)).policies.map(({ policy }) => policy);
    expect(names).toEqual(['address', 'daily', 'all']);
  });

  it('explain takes the name of a policy', async () => {
    await using http = await open(platform);
    const limiter = http.app.get(RateLimiter);
    expect((await http.as('ada', '/twins')).status).toBe(200);
    for (const policy of ['twins', { policy: 'twins' }]) {
      const { policies, route } = await limiter.explain(policy, ADA);
      expect(route).toBeNull();
      expect(policies).toMatchObject([{ policy: 'twins', outcome: 'passes', level: { used: 1 } }]);
    }
  });
});

describe('with Redis', () => {
  const redis = useRedis();

  it('explains by the clock of Redis, in one process what another one has counted', async () => {
    await using one = await open('Express', { redis: redis.server.url });
    await using other = await open('Fastify', { redis: redis.server.url });
    for (let i = 0; i < 3; i++) expect((await one.as('ada', '/shop')).status).toBe(200);
    const explained = await other.app.get(RateLimiter).explain('GET /shop', ADA);
    expect(Math.abs(Date.parse(explained.at) - Date.now())).toBeLessThan(5000);
    expect(explained.policies[0]).toMatchObject({ outcome: 'rejected', decidedBy: 'store', level: { used: 3 } });
    await other.app.get(RateLimiter).reset('GET /shop', ADA);
    expect(await other.app.get(RateLimiter).explain('GET /shop', ADA)).toMatchObject({ isRejected: false });
  });
});
