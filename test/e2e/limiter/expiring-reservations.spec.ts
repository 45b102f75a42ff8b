import { describe, expect, it } from '@jest/globals';
import {
  type Identity,
  MemoryStore,
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitStore,
} from 'nestjs-floodgate';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { until } from '../../support/faults/until.js';
import { start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { turns } from '../scheduling/support/scheduled-calls.js';

const ADA: Identity = { kind: 'user', value: 'ada' };
const MONTHLY: Policy = {
  name: 'monthly',
  algorithm: 'fixed-window',
  limit: 10_000,
  window: { calendar: 'month', timeZone: 'Europe/Paris' },
};
const BUCKET: Policy = { name: 'bucket', algorithm: 'token-bucket', capacity: 10_000, refill: '1/d' };
const SHARDS: Policy = {
  name: 'shards',
  algorithm: 'fixed-window',
  limit: 40_000,
  window: '300d',
  by: 'global',
  shards: 4,
};

const redis = useRedis();
const inRedis = (): RateLimitModuleOptions => ({ redis: redis.server.url, deadline: '10s' });

async function open(options: RateLimitModuleOptions) {
  const app = await start('Express', { imports: [RateLimitModule.forRoot(options)] });
  const limiter = app.app.get(RateLimiter);
  const left = async (policy: Policy = MONTHLY): Promise<number> =>
    (await limiter.peek(policy, ADA)).policies[0]!.remaining;
  return { app, limiter, left, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

describe('a reservation that expires', () => {
  it('is settled at its expiry, and late calls refund nothing', async () => {
    const clock = new VirtualClock();
    await using opened = await open({ store: new VirtualStore(clock) });
    const { limiter, left } = opened;
    const expires = '60s';
    const kept = await limiter.reserve(MONTHLY, ADA, { cost: 1_000, expires, atExpiry: 'keep' });
    const cancelled = await limiter.reserve(MONTHLY, ADA, { cost: 200, expires });
    const cost = await limiter.reserve(MONTHLY, ADA, { cost: 30, expires, atExpiry: 10 });
    const settled = await limiter.reserve(MONTHLY, ADA, { cost: 4, expires, atExpiry: 'cancel' });
    expect(await settled.settle(3)).toMatchObject({ settledBy: 'store', policies: [{ refunded: 1 }] });
    clock.advance(59_999);
    await turns();
    expect(await left()).toBe(10_000 - 1_233);
    clock.advance(1);
    await turns();
    expect(await left()).toBe(10_000 - 1_013);
    expect(await kept.settle(5)).toEqual({
      settledBy: 'store',
      policies: [{ policy: 'monthly', settledBy: 'store', refunded: 0, charged: 0, beyondOverdraft: 0 }],
      expired: true,
    });
    expect(await cancelled.settle(150)).toMatchObject({ expired: true, policies: [{ refunded: 0, charged: 150 }] });
    expect(await cost.cancel()).toMatchObject({ expired: true, policies: [{ refunded: 0, charged: 0 }] });
    await expect(cost.settle(1)).rejects.toMatchObject({ code: 'FG_RESERVATION_CLOSED' });
    expect(await left()).toBe(10_000 - 1_163);
  });

  it.each<[object, string]>([
    [
      { expires: 'soon' },
      "RateLimiter.reserve: expires must be a duration from '1ms' to '7d', such as '60s', got 'soon'",
    ],
    [{ atExpiry: 'cancel' }, "RateLimiter.reserve: atExpiry has no effect without expires, such as { expires: '60s'"],
    [{ expires: '1m', atExpiry: 'settle' }, "atExpiry must be 'cancel', 'keep' or a whole number from 0, got 'settle'"],
    [{ expires: '1m', cost: 5, atExpiry: 6 }, "at most the reserved cost, which is 5 for policy 'monthly', got 6"],
  ])('refuses %j before anything is charged', async (given, message) => {
    await using opened = await open({ store: new MemoryStore() });
    await expect(opened.limiter.reserve(MONTHLY, ADA, given)).rejects.toThrow(message);
    expect(await opened.left()).toBe(10_000);
  });

  it('is settled by this process alone with a store of the application, which says so once', async () => {
    const memory = new MemoryStore();
    const store: RateLimitStore = {
      consume: (charges) => memory.consume(charges),
      refund: (receipts) => memory.refund(receipts),
      reset: (keys) => memory.reset(keys),
    };
    await using opened = await open({ store });
    const reserve = { cost: 100, expires: '400ms', atExpiry: 'cancel' } as const;
    const one = await opened.limiter.reserve(MONTHLY, ADA, reserve);
    await opened.limiter.reserve(MONTHLY, ADA, reserve);
    expect(opened.app.logs.of('warn')).toEqual([
      expect.stringContaining('Reservations expire only while their process runs'),
    ]);
    await until('they have expired', 10_000, async () => (await opened.left()) === 10_000);
    // The store cannot charge more than was reserved, and nothing of it is left.
    expect(await one.settle(50)).toMatchObject({ expired: true, policies: [{ charged: 0 }] });
  });
});

describe('a reservation in Redis', () => {
  it('of a process that is gone is given back by another one, whatever its policy', async () => {
    const policies = [MONTHLY, BUCKET, SHARDS];
    const options = { ...inRedis(), onStoreFailure: 'closed' } as const;
    await using other = await open(options);
    const full = await Promise.all(policies.map(other.left));
    {
      await using gone = await open(options); // closed: it settles nothing any more, as if it were dead
      const reserve = { cost: 1_000, expires: '150ms', atExpiry: 300 };
      for (const policy of policies) expect((await gone.limiter.reserve(policy, ADA, reserve)).allowed).toBe(true);
    }
    await other.limiter.reserve({ ...MONTHLY, name: 'another' }, ADA, { expires: '1h', atExpiry: 'cancel' });
    for (const [i, policy] of policies.entries()) {
      // A bucket has refilled a part of a token.
      await until('it was given back', 20_000, async () => Math.abs(full[i]! - (await other.left(policy)) - 300) <= 1);
    }
    expect(other.app.logs.of('warn')).toEqual([]);
  });

  it('keeps a secret only as its hash', async () => {
    await using opened = await open(inRedis());
    const secret = 'sk-live-1234567890';
    const identity = { kind: 'api-key', value: secret };
    await opened.limiter.reserve(MONTHLY, identity, { cost: 5, expires: '1m', atExpiry: 'cancel' });
    const keys = await redis.client.keys('*{reservations-*');
    const texts = (await Promise.all(keys.map((key) => redis.client.zrange(key, '0', '-1')))).flat();
    expect(texts).toEqual([expect.stringContaining('{key:#')]);
    expect(texts[0]).not.toContain(secret);
    expect(texts[0]!.length).toBeLessThan(300);
  });
});
