import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type OverrideTarget, type Policy, RateLimit, RateLimiter, RateLimitOverrides } from 'nestjs-floodgate';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { asUser, FROM_HEADERS, type HttpApp, limited } from '../../support/http-app.js';
import { until } from '../../support/faults/until.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';
import { ADA, Routes, serviceOf } from '../support/overridden-routes.js';

const LIMIT_MS = 20_000;
const EVERYONE: OverrideTarget = { policy: 'daily', identity: 'everyone' };

const redis = useRedis();

const limitOf = async (http: HttpApp, user: string): Promise<number> =>
  Number((await http.as(user, '/window')).headers['x-ratelimit-limit']);

describe.each(KINDS)('an override for everyone over $platform with $store', (kind) => {
  const service = () => serviceOf(kind.platform, storeOf(kind, redis));

  it('holds for all clients at once, past their denials, but for those with one of their own', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    expect(await http.statuses(4, '/window', asUser('ada'))).toEqual([200, 200, 200, 429]);
    await overrides.set({ policy: 'daily', identity: ADA }, { limit: 4 });
    await overrides.set(EVERYONE, { limit: 5 }, { expiresIn: '1h' });
    expect(await http.statuses(2, '/window', asUser('ada'))).toEqual([200, 429]);
    for (const user of ['bob', 'eve']) {
      expect(await http.statuses(6, '/window', asUser(user))).toEqual([200, 200, 200, 200, 200, 429]);
    }
    // The window goes on counting: four of five are used.
    await overrides.remove({ policy: 'daily', identity: ADA });
    expect(await http.statuses(2, '/window', asUser('ada'))).toEqual([200, 429]);
    expect(await overrides.remove(EVERYONE)).toBe(true);
    expect(await http.statuses(1, '/window', asUser('bob'))).toEqual([429]);
    expect(await limitOf(http, 'zoe')).toBe(3);
    expect(http.app.get(RateLimiter).stats().overrides).toEqual({ count: 0, loaded: true });
  });

  it('exempts all, blocks all, and lets one be blocked or pass nevertheless', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    await overrides.set(EVERYONE, { exempt: true });
    await overrides.set({ policy: 'daily', identity: ADA }, { blocked: true });
    expect(await http.statuses(4, '/window', asUser('bob'))).toEqual([200, 200, 200, 200]);
    expect(await http.statuses(1, '/window', asUser('ada'))).toEqual([429]);
    await overrides.set(EVERYONE, { blocked: true }, { expiresIn: '1h' });
    await overrides.set({ policy: 'daily', identity: ADA }, { limit: 1 });
    expect(Number((await http.as('bob', '/window')).headers['retry-after'])).toBeCloseTo(3_600, -2);
    expect(await http.statuses(2, '/window', asUser('ada'))).toEqual([200, 429]);
  });

  it('is listed, got, remembered and shown', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    const limiter = http.app.get(RateLimiter);
    const set = await overrides.set(EVERYONE, { limit: 5 }, { expiresIn: '1h', author: 'eve', reason: 'sale' });
    expect(set).toMatchObject({ policy: 'daily', identity: 'everyone', author: 'eve' });
    expect(await overrides.get(EVERYONE)).toEqual(set);
    const shown = { version: set.version, change: { limit: 5 }, identity: 'everyone', scope: null };
    const expiresAt = new Date(set.expiresAtMs!).toISOString();
    const [route] = limiter.table().routes.filter(({ route: name }) => name === 'GET /window');
    expect(route!.policies[0]).toMatchObject({ numbers: { limit: 3 }, override: { ...shown, expiresAt } });
    const explained = await limiter.explain({ route: 'GET /window' }, ADA);
    expect(explained.policies[0]).toMatchObject({
      numbers: { limit: 5 },
      level: { limit: 5 },
      override: { ...shown, expiresAt, isComplete: true, reason: 'sale', author: 'eve' },
    });
    expect((await limiter.peek([Routes, 'window'], ADA)).policies[0]).toMatchObject({
      limit: 5,
      override: set.version,
    });
    // The identity of a list removes it.
    for (const { policy, identity, scope } of (await overrides.list()).items) {
      expect(await overrides.remove({ policy, identity, scope }, { author: 'mia' })).toBe(true);
    }
    expect(await overrides.get(EVERYONE)).toBeUndefined();
    const { items } = await overrides.history(EVERYONE);
    expect(items.map(({ action, author }) => `${action} ${author}`)).toEqual(['removed mia', 'set eve']);
    expect(limiter.table().routes.flatMap(({ policies }) => policies.map(({ override }) => override))).toEqual(
      Array(5).fill(null),
    );
  });

  it('shows the override of a policy that counts all clients together, which needs no identity', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'all' }, { capacity: 2 });
    const [route] = http.app
      .get(RateLimiter)
      .table()
      .routes.filter(({ route: name }) => name === 'GET /all');
    expect(route!.policies[0]).toMatchObject({
      override: { change: { capacity: 2 }, identity: null, expiresAt: null },
    });
    for (const [target, change, problem] of [
      [
        { policy: 'all', identity: 'everyone' },
        { capacity: 2 },
        `counts all clients together (by: 'global'): leave identity out`,
      ],
      [EVERYONE, { limit: -1 }, 'limit must be'],
      [{ ...EVERYONE, policy: 'dayly' }, { limit: 5 }, `Did you mean 'daily'?`],
      [{ ...EVERYONE, identity: 'everybody' }, { limit: 5 }, `or a tag such as 'user:rider-1', got a text of 9 bytes`],
    ] as const) {
      await expect(overrides.set(target, change)).rejects.toThrow(problem);
    }
    await overrides.set(EVERYONE, { limit: 4 });
    await expect(overrides.set(EVERYONE, { limit: 5 }, { ifVersion: 0 })).rejects.toThrow(
      `The override of everyone under policy 'daily' was changed meanwhile`,
    );
  });
});

it('is obeyed by every process that shares a Redis', async () => {
  const kind = KINDS.find(({ store }) => store === 'Redis')!;
  await using one = await serviceOf(kind.platform, storeOf(kind, redis));
  await using two = await serviceOf(kind.platform, storeOf(kind, redis));
  await one.app.get(RateLimitOverrides).set(EVERYONE, { limit: 50 });
  expect(await limitOf(one, 'ada')).toBe(50);
  await until('the other obeys', LIMIT_MS, async () => (await limitOf(two, 'ada')) === 50);
  await two.app.get(RateLimitOverrides).remove(EVERYONE);
  expect(await limitOf(two, 'ada')).toBe(3);
  await until('the first obeys', LIMIT_MS, async () => (await limitOf(one, 'ada')) === 3);
});

it('ends by the clock, as those of one identity and of one place do, which go before it', async () => {
  const clock = new VirtualClock();
  await using http = await limited('Express', Routes, { identity: FROM_HEADERS, store: new VirtualStore(clock) });
  const overrides = http.app.get(RateLimitOverrides);
  const hours = (count: number): { readonly expiresIn: string } => ({ expiresIn: `${count}h` });
  const scope = 'GET /window';
  await overrides.set(EVERYONE, { limit: 10 }, hours(4));
  await overrides.set({ ...EVERYONE, scope }, { limit: 20 }, hours(3));
  await overrides.set({ policy: 'daily', identity: ADA }, { limit: 30 }, hours(2));
  await overrides.set({ policy: 'daily', identity: ADA, scope }, { limit: 40 }, hours(1));
  const seen: [number, number][] = [];
  for (let hour = 0; hour <= 4; hour++) {
    seen.push([await limitOf(http, 'ada'), await limitOf(http, 'bob')]);
    clock.advance(3_600_000 - 1);
    expect([await limitOf(http, 'ada'), await limitOf(http, 'bob')]).toEqual(seen.at(-1));
    clock.advance(1);
  }
  expect(seen).toEqual([
    [40, 20],
    [30, 20],
    [20, 20],
    [10, 10],
    [3, 3],
  ]);
});

const PLANNED: Policy = {
  name: 'planned',
  algorithm: 'fixed-window',
  limit: 10,
  window: '1h',
  by: 'user',
  plans: { pro: { limit: 100 } },
};

@Controller()
class Shop {
  @Get('planned')
  @RateLimit(PLANNED)
  planned(): string {
    return 'ok';
  }

  @Get('row')
  @RateLimit({ name: 'own', algorithm: 'fixed-window', limit: 1, window: '1h', by: 'user', else: 'shared' })
  row(): string {
    return 'ok';
  }

  @Get('classes')
  @RateLimit({
    name: 'classes',
    algorithm: 'fixed-window',
    limit: 10,
    window: '1h',
    by: 'user',
    priorities: { high: 1, low: 0.5 },
    priority: 'low',
  })
  classes(): string {
    return 'ok';
  }
}

describe('an override for everyone of a policy', () => {
  const shop = () =>
    limited('Express', Shop, {
      identity: FROM_HEADERS,
      store: new VirtualStore(new VirtualClock()),
      plan: {
        resolve: (request) =>
          (request as { headers: Record<string, string> }).headers['x-user-id'] === 'pro' ? 'pro' : null,
      },
      policies: { shared: { algorithm: 'fixed-window', limit: 2, window: '1h', by: 'user' } },
    });

  it('with plans holds for clients of any plan', async () => {
    await using http = await shop();
    const overrides = http.app.get(RateLimitOverrides);
    const limits = async (): Promise<unknown[]> =>
      Promise.all(['pro', 'bob'].map(async (user) => (await http.as(user, '/planned')).headers['x-ratelimit-limit']));
    expect(await limits()).toEqual(['100', '10']);
    await overrides.set({ policy: 'planned', identity: 'everyone' }, { limit: 20 });
    expect(await limits()).toEqual(['20', '20']);
    await overrides.remove({ policy: 'planned', identity: 'everyone' });
    expect(await limits()).toEqual(['100', '10']);
  });

  it('in a row is one of that policy alone', async () => {
    await using http = await shop();
    const overrides = http.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'own', identity: 'everyone' }, { limit: 2 });
    expect(await http.statuses(5, '/row', asUser('bob'))).toEqual([200, 200, 200, 200, 429]);
    await overrides.set({ policy: 'shared', identity: 'everyone' }, { exempt: true });
    expect(await http.statuses(1, '/row', asUser('bob'))).toEqual([200]);
    await overrides.set({ policy: 'own', identity: 'everyone' }, { blocked: true });
    expect(await http.statuses(1, '/row', asUser('eve'))).toEqual([429]);
  });

  it('with priorities leaves each class its part', async () => {
    await using http = await shop();
    const overrides = http.app.get(RateLimitOverrides);
    const target = { policy: 'classes', identity: 'everyone' };
    await overrides.set(target, { limit: 4 });
    expect(await http.statuses(3, '/classes', asUser('bob'))).toEqual([200, 200, 429]);
    await overrides.set(target, { limit: 1 });
    expect(await http.statuses(2, '/classes', asUser('eve'))).toEqual([200, 429]);
  });
});
