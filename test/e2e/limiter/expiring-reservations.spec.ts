import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import {
  type Identity,
  MemoryStore,
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  type RateLimitStore,
} from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { start } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';
import { ToldStore } from '../../support/told-store.js';

const ADA: Identity = { kind: 'user', value: 'ada' };
const MONTHLY: Policy = {
  name: 'monthly',
  algorithm: 'fixed-window',
  limit: 10_000,
  window: { calendar: 'month', timeZone: 'Europe/Paris' },
};
const SHORT = '400ms';
/** A sweep comes within 4 s. The machine may be busy. */
const SWEPT_MS = 10_000;

let server: RedisServer;
let client: Redis;

beforeAll(async () => {
  server = await RedisServer.start();
  client = new Redis(server.url);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

async function open(options: RateLimitModuleOptions) {
  const app = await start('Express', { imports: [RateLimitModule.forRoot(options)] });
  const limiter = app.app.get(RateLimiter);
  const left = async (policy: Policy = MONTHLY): Promise<number> =>
    (await limiter.peek(policy, ADA)).policies[0]!.remaining;
  return { app, limiter, left, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

let prefixes = 0;
const inRedis = (): RateLimitModuleOptions => ({ redis: server.url, keyPrefix: `t${prefixes++}`, deadline: '5s' });
const STORES: [string, () => RateLimitModuleOptions][] = [
  ['in memory', () => ({ store: new MemoryStore() })],
  ['in Redis', inRedis],
];

describe.each(STORES)('a reservation that expires, %s', (_, options) => {
  it('is settled at its expiry, and late calls refund nothing', async () => {
    await using opened = await open(options());
    const { limiter, left } = opened;
    const [kept, cancelled, cost, settled] = [
      await limiter.reserve(MONTHLY, ADA, { cost: 1_000, expires: SHORT }),
      await limiter.reserve(MONTHLY, ADA, { cost: 200, expires: SHORT, atExpiry: 'cancel' }),
      await limiter.reserve(MONTHLY, ADA, { cost: 30, expires: SHORT, atExpiry: 10 }),
      await limiter.reserve(MONTHLY, ADA, { cost: 4, expires: SHORT, atExpiry: 'cancel' }),
    ];
    expect(await left()).toBe(10_000 - 1_234);
    expect(await settled.settle(3)).toMatchObject({ settledBy: 'store', policies: [{ refunded: 1 }] });
    await until('they have expired', 2_000, async () => (await left()) === 10_000 - 1_013);
    expect(await kept.settle(5)).toEqual({
      settledBy: 'store',
      policies: [{ policy: 'monthly', settledBy: 'store', refunded: 0, charged: 0, beyondOverdraft: 0 }],
      expired: true,
    });
    expect(await cancelled.settle(150)).toMatchObject({ expired: true, policies: [{ refunded: 0, charged: 150 }] });
    expect(await cost.cancel()).toMatchObject({ expired: true, policies: [{ refunded: 0, charged: 0 }] });
    await expect(cost.settle(1)).rejects.toMatchObject({ code: 'FG_RESERVATION_CLOSED' });
    expect(await left()).toBe(10_000 - 1_163);
    expect(opened.app.logs.of('warn')).toEqual([]);
  });

  it('refuses wrong options before anything is charged', async () => {
    await using opened = await open(options());
    const { limiter, left } = opened;
    const wrong: [object, string][] = [
      [
        { expires: 'soon' },
        "RateLimiter.reserve: expires must be a duration from '1ms' to '7d', such as '60s', got 'soon'",
      ],
      [{ expires: 0 }, 'expires must be a duration'],
      [{ expires: '8d' }, 'expires must be a duration'],
      [{ expires: null }, 'expires must be a duration'],
      [{ atExpiry: 'cancel' }, "RateLimiter.reserve: atExpiry has no effect without expires, such as { expires: '60s'"],
      [
        { expires: '1m', atExpiry: 'settle' },
        "atExpiry must be 'keep', 'cancel' or a whole number from 0, got 'settle'",
      ],
      [{ expires: '1m', atExpiry: -1 }, 'atExpiry must be'],
      [{ expires: '1m', atExpiry: 0.5 }, 'atExpiry must be'],
      [{ expires: '1m', atExpiry: null }, 'atExpiry must be'],
      [
        { expires: '1m', cost: 5, atExpiry: 6 },
        "at most the reserved cost, which is 5 for policy 'monthly', got 6: reserve more",
      ],
      [
        { expiry: '1m' },
        "'expiry' is not an option of RateLimiter.reserve; the options are cost, plan, timeZone, priority, expires and atExpiry",
      ],
    ];
    for (const [given, message] of wrong) {
      await expect(limiter.reserve(MONTHLY, ADA, given)).rejects.toThrow(message);
    }
    const lease: Policy = { name: 'exports', algorithm: 'concurrency', limit: 2, lease: '30s' };
    await expect(limiter.reserve(lease, ADA, { expires: '1m' })).rejects.toThrow('use RateLimiter.acquire');
    await expect(limiter.acquire(lease, ADA, { expires: '1m' } as object)).rejects.toThrow(
      "'expires' is not an option",
    );
    expect(await left()).toBe(10_000);
  });
});

describe('of a process that is gone', () => {
  const COST = 1_000;
  const POLICIES: [string, Policy][] = [
    ['a calendar month', MONTHLY],
    ['a fixed window', { name: 'fw', algorithm: 'fixed-window', limit: 10_000, window: '300d' }],
    ['a log', { name: 'swl', algorithm: 'sliding-window-log', limit: 10_000, window: '1d' }],
    ['a sliding window counter', { name: 'swc', algorithm: 'sliding-window-counter', limit: 10_000, window: '1d' }],
    ['a token bucket', { name: 'tb', algorithm: 'token-bucket', capacity: 10_000, refill: '1/d' }],
    ['a leaky bucket', { name: 'lb', algorithm: 'leaky-bucket', capacity: 10_000, drain: '1/d' }],
    [
      'a prefetched bucket',
      { name: 'tbp', algorithm: 'token-bucket', capacity: 10_000, refill: '1/d', prefetch: { for: '200ms', max: 10 } },
    ],
    ['shards', { name: 'sh', algorithm: 'fixed-window', limit: 40_000, window: '300d', by: 'global', shards: 4 }],
    ['a plan', { name: 'pl', algorithm: 'fixed-window', limit: 1, window: '1d', plans: { pro: { limit: 10_000 } } }],
    ['a shadow', { name: 'sd', algorithm: 'fixed-window', limit: 10_000, window: '1d', mode: 'shadow' }],
  ];

  it.each(POLICIES)('another one gives the budget back: %s', async (_, policy) => {
    const options = { ...inRedis(), onStoreFailure: 'closed' } as const;
    const more = policy.plans === undefined ? {} : { plan: 'pro' };
    await using other = await open(options);
    const used = async (): Promise<number> => {
      const { policies, shadow = [] } = await other.limiter.peek(policy, ADA, more);
      const { limit, remaining } = [...policies, ...shadow][0]!;
      return limit - remaining;
    };
    const before = await used();
    {
      await using gone = await open(options); // closed: it settles nothing any more, as if it were dead
      const reserve = { ...more, cost: COST, expires: '150ms', atExpiry: 300 };
      expect((await gone.limiter.reserve(policy, ADA, reserve)).allowed).toBe(true);
    }
    expect((await used()) - before).toBeGreaterThanOrEqual(COST - 1);
    await delay(200);
    await other.limiter.reserve({ ...MONTHLY, name: 'another' }, ADA, { cost: 1, expires: '1h', atExpiry: 'cancel' });
    // A bucket has refilled a part of a token.
    await until('it was given back', SWEPT_MS, async () => Math.abs((await used()) - before - 300) <= 1);
    expect(other.app.logs.of('warn')).toEqual([]);
    await delay(100);
    expect(Math.abs((await used()) - before - 300)).toBeLessThanOrEqual(1);
  });

  it('with an override of its limit', async () => {
    const options = inRedis();
    const tokens = { algorithm: 'token-bucket', capacity: 10, refill: '1/d', by: 'user' } as const;
    const withTokens: RateLimitModuleOptions = { ...options, policies: { tokens } };
    await using other = await open(withTokens);
    await other.app.app.get(RateLimitOverrides).set({ policy: 'tokens', identity: ADA }, { capacity: 500 });
    {
      await using gone = await open(withTokens);
      const reservation = await gone.limiter.reserve('tokens', ADA, { cost: 400, expires: SHORT, atExpiry: 'cancel' });
      expect(reservation.allowed).toBe(true);
    }
    await delay(500);
    expect(
      (await other.limiter.reserve('tokens', ADA, { cost: 300, expires: SHORT, atExpiry: 'cancel' })).allowed,
    ).toBe(false);
    const free = async (): Promise<number> => (await other.limiter.peek('tokens', ADA)).policies[0]!.remaining;
    await until('it was given back', SWEPT_MS, async () => (await free()) === 500);
  });

  it('keeps identities as keys do: a secret only as its hash', async () => {
    await using opened = await open(inRedis());
    const secret = 'sk-live-1234567890';
    await opened.limiter.reserve(
      MONTHLY,
      { kind: 'api-key', value: secret },
      { cost: 5, expires: '1m', atExpiry: 'cancel' },
    );
    const keys = await client.keys('*{reservations-*');
    const texts = (await Promise.all(keys.map((key) => client.zrange(key, '0', '-1')))).flat();
    expect(texts.some((text) => text.includes('{key:#'))).toBe(true);
    for (const text of texts) {
      expect(text).not.toContain(secret);
      expect(text.length).toBeLessThan(300);
    }
  });
});

describe('where the log cannot be kept', () => {
  it('a foreign type under its keys costs a warning, and the reservation works', async () => {
    const options = inRedis();
    for (let i = 0; i < 4; i++) await client.set(`${options.keyPrefix}:{reservations-${i}}`, 'foreign');
    await using opened = await open(options);
    const reservation = await opened.limiter.reserve(MONTHLY, ADA, { cost: 100, expires: '1m', atExpiry: 'cancel' });
    expect(await reservation.settle(40)).toEqual({
      settledBy: 'store',
      policies: [{ policy: 'monthly', settledBy: 'store', refunded: 60, charged: 0, beyondOverdraft: 0 }],
    });
    const warnings = opened.app.logs.of('warn').join('\n');
    expect(warnings).toContain('A reservation stays charged if this process dies: WRONGTYPE');
    expect(warnings).toContain('Expired reservations of other processes are not settled: WRONGTYPE');
  });

  it('a store of the application says once that only this process settles', async () => {
    const memory = new MemoryStore();
    const store: RateLimitStore = {
      consume: (charges) => memory.consume(charges),
      refund: (receipts) => memory.refund(receipts),
      reset: (keys) => memory.reset(keys),
    };
    await using opened = await open({ store });
    const { limiter, left } = opened;
    const [one, two] = [1, 2].map(() =>
      limiter.reserve(MONTHLY, ADA, { cost: 100, expires: SHORT, atExpiry: 'cancel' }),
    );
    await Promise.all([one, two]);
    expect(opened.app.logs.of('warn')).toEqual([
      expect.stringContaining('Reservations expire only while their process runs'),
    ]);
    await until('they have expired', 2_000, async () => (await left()) === 10_000);
    // The store cannot charge more than was reserved, and nothing of it is left.
    expect(await (await one!).settle(50)).toMatchObject({ expired: true, policies: [{ charged: 0 }] });
  });

  it('an outage leaves the reservation to this process', async () => {
    await using opened = await open({ store: ToldStore.failing() });
    const { limiter } = opened;
    const reservation = await limiter.reserve(MONTHLY, ADA, { cost: 100, expires: SHORT, atExpiry: 'cancel' });
    expect(reservation.decision.decidedBy).toBe('local');
    await delay(600);
    expect(await reservation.settle(30)).toMatchObject({
      settledBy: 'local',
      expired: true,
      policies: [{ charged: 30 }],
    });
  });
});
