import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Inject, Injectable } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Identity,
  type LimiterPolicy,
  MemoryStore,
  type Policy,
  RateLimit,
  LimiterUnavailableError,
  RateLimiter,
  type RateLimitModuleOptions,
  RateLimitModule,
  type RateLimitStore,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, left, limited, PLATFORMS, start } from '../../support/http-app.js';
import { inTime } from '../../support/in-time.js';
import { RedisServer } from '../../support/redis-server.js';
import { StillStore } from '../../support/still-store.js';

const MAIL: Policy = { name: 'mail', algorithm: 'token-bucket', capacity: 10, refill: '1/m', scope: 'app' };
const DAILY: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 15, window: '300d' };
const ADA: Identity = { kind: 'user', value: 'ada' };
const BOB: Identity = { kind: 'user', value: 'bob' };

@Injectable()
class Mailer {
  constructor(@Inject(RateLimiter) readonly limiter: RateLimiter) {}
}

@Controller()
class Routes {
  @Get()
  @RateLimit(MAIL)
  get(): void {}
}

function service(options: RateLimitModuleOptions): Promise<HttpApp> {
  return start('Express', {
    imports: [
      RateLimitModule.forRoot({
        policies: { daily: DAILY, fn: { ...DAILY, name: 'fn', cost: () => 2 } },
        identity: FROM_HEADERS,
        ...options,
      }),
    ],
    controllers: [Routes],
    providers: [Mailer],
  });
}

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(() => server.stop());

const STORES: [string, () => RateLimitModuleOptions][] = [
  ['MemoryStore', () => ({ store: new MemoryStore() })],
  ['Redis', () => ({ redis: server.url, keyPrefix: `t${Math.random()}` })],
];

describe.each(STORES)('the limiter on %s', (_, options) => {
  it('is injected, and consumes, peeks and resets by name and by policy', async () => {
    await using app = await service(options());
    const { limiter } = app.app.get(Mailer);
    const first = await limiter.consume('daily', ADA, { cost: 4 });
    expect(first).toMatchObject({ allowed: true, decidedBy: 'store', retryAfterMs: 0, delayMs: 0 });
    expect(first.policies).toMatchObject([{ policy: 'daily', algorithm: 'fixed-window', limit: 15, remaining: 11 }]);
    expect(Math.abs(first.decidedAtMs - Date.now())).toBeLessThan(60_000);

    const both = await limiter.consume(['daily', MAIL], ADA, { cost: 10 });
    expect(both.policies.map(({ remaining }) => remaining)).toEqual([1, 0]);
    const rejected = await limiter.consume(['daily', MAIL], ADA);
    expect(rejected.allowed).toBe(false);
    expect(rejected.policies.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 1],
      [false, 0],
    ]);
    expect(rejected.retryAfterMs).toBeGreaterThan(0);
    expect(rejected.retryAfterMs).toBeLessThanOrEqual(60_000);

    expect((await limiter.peek(MAIL, ADA)).allowed).toBe(false);
    await limiter.reset(MAIL, ADA);
    expect((await limiter.peek(MAIL, ADA)).policies[0]!.remaining).toBe(10);
    expect((await limiter.peek('daily', ADA)).policies[0]!.remaining).toBe(1);
    await limiter.reset(['daily', MAIL], ADA);
    expect((await limiter.peek('daily', ADA)).policies[0]!.remaining).toBe(15);
  });

  it('charges nothing by peek', async () => {
    await using app = await service(options());
    const { limiter } = app.app.get(Mailer);
    await limiter.consume('daily', ADA, { cost: 2 });
    for (let i = 0; i < 40; i++) expect((await limiter.peek('daily', ADA)).policies[0]!.remaining).toBe(13);
    expect((await limiter.peek('daily', BOB)).policies[0]!.remaining).toBe(15);
  });

  it("shares the state of a route's policy with scope 'app' and the same name", async () => {
    await using app = await service(options());
    const { limiter } = app.app.get(Mailer);
    expect(left(await app.as('ada', '/'))).toBe(9);
    expect((await limiter.consume(MAIL, ADA, { cost: 9 })).allowed).toBe(true);
    expect((await app.as('ada', '/')).status).toBe(429);
    expect((await app.as('bob', '/')).status).toBe(200);
    await limiter.reset(MAIL, ADA);
    expect(left(await app.as('ada', '/'))).toBe(9);
  });

  it("counts all identities together by 'global'", async () => {
    await using app = await service(options());
    const { limiter } = app.app.get(Mailer);
    const policy: Policy = { ...DAILY, name: 'all', by: 'global' };
    await limiter.consume(policy, ADA, { cost: 14 });
    expect((await limiter.consume(policy, BOB)).policies[0]!.remaining).toBe(0);
    await limiter.reset(policy, BOB);
    expect((await limiter.peek(policy, ADA)).policies[0]!.remaining).toBe(15);
  });

  it('rejects a cost that can never fit, with a retryAfterMs of null', async () => {
    await using app = await service(options());
    const decision = await app.app.get(Mailer).limiter.consume('daily', ADA, { cost: 16 });
    expect(decision).toMatchObject({ allowed: false, retryAfterMs: null });
    expect(decision.policies[0]).toMatchObject({ allowed: false, retryAfterMs: null, remaining: 15 });
  });

  it('counts each identity by its kind and value, with any text as its value', async () => {
    await using app = await service(options());
    const { limiter } = app.app.get(Mailer);
    const values = ['', 'a:b', '}{', '\n', '\ud800', '__proto__', 'x'.repeat(100_000)];
    for (const remaining of [14, 13])
      for (const kind of ['user', 'job'])
        for (const value of values)
          expect((await limiter.consume('daily', { kind, value })).policies[0]!.remaining).toBe(remaining);
  });

  it('counts a whole number as its decimal text', async () => {
    await using app = await service(options());
    const { limiter } = app.app.get(Mailer);
    const remaining: number[] = [];
    for (const value of [7, '7', 7n, 7] as const)
      remaining.push((await limiter.consume('daily', { kind: 'user', value })).policies[0]!.remaining);
    expect(remaining).toEqual([14, 13, 12, 11]);
    expect((await limiter.peek('daily', { kind: 'user', value: 7n })).policies[0]!.remaining).toBe(11);
    await limiter.reset('daily', { kind: 'user', value: 7 });
    expect((await limiter.peek('daily', { kind: 'user', value: '7' })).policies[0]!.remaining).toBe(15);
  });
});

describe('the arguments of the limiter', () => {
  const consuming: [string, LimiterPolicy | LimiterPolicy[], unknown, unknown, string][] = [
    [
      'a policy without a name',
      { algorithm: 'token-bucket', capacity: 1, refill: 1 },
      ADA,
      {},
      'a policy outside a route needs a name',
    ],
    ['an unknown name', 'weekly', ADA, {}, "no policy named 'weekly'. The module's policies are 'daily', 'fn'"],
    [
      'an invalid policy',
      { ...MAIL, capacity: -1 },
      ADA,
      {},
      'RateLimiter.consume: capacity must be a whole number from 1',
    ],
    [
      'an invalid policy beside another one',
      ['daily', { ...MAIL, capacity: -1 }],
      ADA,
      {},
      'RateLimiter.consume, policy 2 of 2: capacity must be',
    ],
    ['no policies', [], ADA, {}, 'takes at least one policy or name, got none'],
    ['undefined', undefined as unknown as Policy, ADA, {}, 'got undefined'],
    ['one name twice', ['daily', 'daily'], ADA, {}, "two policies are named 'daily'"],
    ['a negative cost', 'daily', ADA, { cost: -1 }, "cost of policy 'daily' must be a whole number from 0, got -1"],
    ['a fraction as cost', ['daily', MAIL], ADA, { cost: 1.5 }, 'must be a whole number from 0, got 1.5'],
    ['NaN as cost', 'daily', ADA, { cost: NaN }, 'got NaN'],
    ['Infinity as cost', 'daily', ADA, { cost: Infinity }, 'got Infinity'],
    [
      'an unknown option',
      'daily',
      ADA,
      { costs: 3 },
      "'costs' is not an option of RateLimiter.consume; the options are cost, plan, timeZone and priority",
    ],
    [
      'an unknown option beside the cost',
      'daily',
      ADA,
      { cost: 3, by: 'ip' },
      "'by' is not an option of RateLimiter.consume",
    ],
    [
      'a number in place of options',
      'daily',
      ADA,
      3,
      'RateLimiter.consume: options must be an object such as { cost: 2 }, got 3',
    ],
    ['null in place of options', 'daily', ADA, null, 'options must be an object such as { cost: 2 }, got null'],
    ['an array in place of options', 'daily', ADA, [3], "'0' is not an option of RateLimiter.consume"],
    ['text as cost', 'daily', ADA, { cost: '2' }, "got '2'"],
    [
      'no cost for a policy whose cost is a function',
      'fn',
      ADA,
      {},
      "the cost of policy 'fn' is a function of a request",
    ],
    ['no identity', 'daily', undefined, {}, 'an identity'],
    ['text as identity', 'daily', 'ada', {}, 'an identity'],
    ['an identity without a kind', 'daily', { value: 'ada' }, {}, 'an identity'],
    ['an identity whose kind would break a key', 'daily', { kind: '}', value: 'ada' }, {}, 'an identity'],
    [
      'a fraction as value',
      'daily',
      { kind: 'user', value: 1.5 },
      {},
      "a 'user' identity: its value must be a string, a safe integer or a bigint, got 1.5",
    ],
    [
      'a fraction as an API key, which no message shows',
      'daily',
      { kind: 'api-key', value: 0.123 },
      {},
      "an 'api-key' identity: its value must be a string, a safe integer or a bigint (see ",
    ],
  ];

  it.each(consuming)('are rejected before any charge: %s', async (_, policies, identity, options, problem) => {
    const store = new StillStore();
    await using app = await service({ store });
    const { limiter } = app.app.get(Mailer);
    await expect(limiter.consume(policies, identity as Identity, options as { cost?: number })).rejects.toThrow(
      problem,
    );
    expect(() => limiter.consumeSync(policies, identity as Identity, options as { cost?: number })).toThrow(
      problem.replace('RateLimiter.consume', 'RateLimiter.consumeSync'),
    );
    expect(store.asked).toEqual([]);
  });

  it('may include a cost, which replaces a cost that is a function of a request', async () => {
    await using app = await service({ store: new StillStore() });
    const { policies } = await app.app.get(Mailer).limiter.consume('fn', ADA, { cost: 3 });
    expect(policies[0]!.remaining).toBe(12);
  });
});

it('the limiter charges a policy with a skipIf, which needs a request, and warns of it once', async () => {
  const { name: _, ...daily } = DAILY as Extract<Policy, { limit: number }>;
  await using app = await service({ policies: { skipped: { ...daily, skipIf: () => true } } });
  const { limiter } = app.app.get(Mailer);
  for (let i = 0; i < 3; i++) expect((await limiter.consume('skipped', ADA)).policies[0]!.limit).toBe(15);
  const warnings = app.logs.of('warn').filter((text) => text.includes('skipIf'));
  expect(warnings).toEqual([
    "RateLimiter: policy 'skipped' has a skipIf, which needs a request: RateLimiter charges it all the same RateLimit",
  ]);
});

describe('the limiter with a store that fails', () => {
  const store: RateLimitStore = {
    consume: () => Promise.reject(new Error('store unavailable')),
    reset: () => Promise.reject(new Error('store unavailable')),
  };

  it("allows with 'open', and the decision says that no store decided", async () => {
    await using app = await service({ store, onStoreFailure: 'open' });
    const decision = await app.app.get(Mailer).limiter.consume('daily', ADA);
    expect(decision).toMatchObject({ allowed: true, decidedBy: 'open', policies: [], retryAfterMs: 0, delayMs: 0 });
  });

  it("rejects with LimiterUnavailableError with 'closed', and with the error of the store on reset", async () => {
    await using app = await service({ store, onStoreFailure: 'closed' });
    const { limiter } = app.app.get(Mailer);
    await expect(limiter.consume('daily', ADA)).rejects.toThrow(LimiterUnavailableError);
    await expect(limiter.consume('daily', ADA)).rejects.toMatchObject({ retryAfterMs: 1000 });
    await expect(limiter.reset('daily', ADA)).rejects.toThrow('store unavailable');
  });
});

it('the limiter rejects within the deadline when the store never answers a reset', async () => {
  const never = new Promise<never>(() => undefined);
  await using app = await service({ store: { consume: () => never, reset: () => never } });
  const reset = inTime(50, () => app.app.get(Mailer).limiter.reset('daily', ADA).catch(String));
  const hangs = delay(2000, 'hangs', { ref: false });
  expect(await Promise.race([reset, hangs])).toEqual({
    result: 'RateLimitStoreError: the store gave no answer within 50 ms',
    inTime: true,
  });
});

it.each(PLATFORMS)('the guard and the limiter share one store over %s', async (platform) => {
  const store = new StillStore();
  await using app = await limited(platform, Routes, { store, identity: FROM_HEADERS });
  await app.as('ada', '/');
  await app.app.get(RateLimiter).consume(MAIL, ADA);
  expect(store.keys).toEqual(['rl:{user:ada}:app:mail:tb:10@1/60000000']);
});
