import { Controller, Get } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it, jest } from '@jest/globals';
import {
  type Decision,
  type Identity,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  RedisStore,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, left, limited, PLATFORMS } from '../support/http-app.js';
import { until } from '../support/faults/until.js';
import { useRedis } from '../support/redis-fixture.js';
import { StillStore } from '../support/still-store.js';
import { readList } from '../support/structured-fields.js';

jest.setTimeout(20_000);

const redis = useRedis();
const ADA: Identity = { kind: 'user', value: 'ada' };
const CAPACITY = 1_000;
const LEASE = { for: '10s', max: 100 } as const;
const BUCKET = { name: 'bucket', algorithm: 'token-bucket', capacity: CAPACITY, refill: '1/h', lease: LEASE } as const;
const WINDOW = { name: 'window', algorithm: 'fixed-window', limit: CAPACITY, window: '300d', lease: LEASE } as const;
const PLAIN = { name: 'plain', algorithm: 'fixed-window', limit: CAPACITY, window: '300d' } as const;

@Controller()
class Routes {
  @Get('leased')
  @RateLimit(BUCKET)
  leased(): void {}

  @Get('both')
  @RateLimit(BUCKET, PLAIN)
  both(): void {}
}

interface Application extends AsyncDisposable {
  readonly limiter: RateLimiter;
  readonly overrides: RateLimitOverrides;
}

async function open(options: RateLimitModuleOptions = { redis: redis.server.url }): Promise<Application> {
  const policies = { bucket: BUCKET, window: WINDOW };
  const module = RateLimitModule.forRoot({ guard: false, policies, onStoreFailure: 'closed', ...options });
  const app = await NestFactory.createApplicationContext(module, { logger: false });
  return {
    limiter: app.get(RateLimiter),
    overrides: app.get(RateLimitOverrides),
    [Symbol.asyncDispose]: () => app.close(),
  };
}

/** One after the other. */
async function consume({ limiter }: Application, policy: string, count: number): Promise<Decision[]> {
  const decisions: Decision[] = [];
  for (let i = 0; i < count; i++) decisions.push(await limiter.consume(policy, ADA));
  return decisions;
}

const admitted = (decisions: readonly Decision[]): number => decisions.filter(({ allowed }) => allowed).length;
const byLease = (decisions: readonly Decision[]): number =>
  decisions.filter(({ decidedBy }) => decidedBy === 'lease').length;

describe.each(PLATFORMS)('leases over %s', (platform) => {
  const REQUESTS = 30;
  const service = (): Promise<HttpApp> =>
    limited(platform, Routes, { redis: redis.server.url, identity: FROM_HEADERS, headers: 'both' });

  it('say in RateLimit that an answer is an estimate, and the same number in X-RateLimit-Remaining', async () => {
    await using http = await service();
    let estimates = 0;
    for (let i = 1; i <= REQUESTS; i++) {
      const reply = await http.as('ada', '/leased');
      const [[name, { r, est }]] = readList(String(reply.headers.ratelimit)) as [[string, Record<string, unknown>]];
      expect([reply.status, name, r, left(reply)]).toEqual([200, 'bucket', left(reply), left(reply)]);
      // An estimate promises nothing that is not there.
      expect(r).toBeLessThanOrEqual(CAPACITY - i);
      expect(r).toBeGreaterThan(CAPACITY - i - LEASE.max);
      expect([undefined, true]).toContain(est);
      if (est === true) estimates++;
      expect(reply.headers['ratelimit-policy']).not.toContain('est');
    }
    const { sources, tokenLeases } = http.app.get(RateLimiter).stats();
    expect(estimates).toBe(sources.lease);
    expect(estimates).toBeGreaterThan(REQUESTS / 2);
    expect(tokenLeases.leased).toBeGreaterThanOrEqual(estimates);
  });

  it('call an estimate only what a lease has paid, beside a policy that Redis decides', async () => {
    await using http = await service();
    const said: unknown[] = [];
    for (let i = 0; i < REQUESTS; i++) {
      const reply = await http.as('ada', '/both');
      const items = readList(String(reply.headers.ratelimit));
      said.push(items.map(([, { est = false }]) => est));
      expect(items[1]![1].r).toBe(CAPACITY - 1 - i);
    }
    expect(said[0]).toEqual([false, false]);
    expect(said.at(-1)).toEqual([true, false]);
    expect(http.app.get(RateLimiter).stats().sources.lease).toBe(0);
  });
});

describe('boot', () => {
  const boot = (options: RateLimitModuleOptions): Promise<HttpApp> => limited('Express', Routes, options);

  it.each<[string, () => RateLimitModuleOptions]>([
    ["clock: 'app'", () => ({ redis: redis.server.url, clock: 'app' })],
    ["a RedisStore with clock: 'app'", () => ({ store: new RedisStore(redis.client, { clock: 'app' }) })],
  ])('stops at a lease with %s, and names the route', async (_, options) => {
    await expect(boot(options())).rejects.toThrow(
      /Routes\.leased.*policy 'bucket': lease needs Redis's clock, and clock is 'app': leave one of them out/,
    );
  });

  it('stops at a lease of a named policy', async () => {
    await expect(open({ redis: redis.server.url, clock: 'app' })).rejects.toThrow(
      /RateLimitModule, policies, policy 'bucket': lease needs Redis's clock/,
    );
  });

  it.each<[string, () => RateLimitModuleOptions]>([
    ['without Redis', () => ({})],
    ['with the store in the process', () => ({ store: new StillStore() })],
  ])('says that a lease has no effect %s, and the limit holds', async (_, options) => {
    await using http = await boot({ identity: FROM_HEADERS, ...options() });
    const warnings = http.logs.of('warn').filter((text) => text.includes('lease'));
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(
      /Routes\.leased.*: lease of policy 'bucket' has no effect with this store, which decides each request: it needs Redis/,
    );
    for (let i = 1; i <= 10; i++) expect(left(await http.as('ada', '/leased'))).toBe(CAPACITY - i);
    expect(http.app.get(RateLimiter).stats().sources.lease).toBe(0);
  });
});

describe('an override of a policy with leases', () => {
  it('takes effect with the next request where it gives less, and where it gives more', async () => {
    await using app = await open();
    expect(byLease(await consume(app, 'window', 100))).toBeGreaterThan(50);
    const target = { policy: 'window', identity: ADA };
    await app.overrides.set(target, { limit: 50 });
    const [rejected] = await consume(app, 'window', 1);
    expect(rejected).toMatchObject({ allowed: false, decidedBy: 'store', policies: [{ limit: 50, remaining: 0 }] });
    // The unused tokens of the lease were returned: of the next limit none is lost, and none is there twice.
    await app.overrides.set(target, { limit: 300 });
    const more = await consume(app, 'window', 250);
    expect([admitted(more), more.findIndex(({ allowed }) => !allowed)]).toEqual([200, 200]);
    expect(byLease(more)).toBeGreaterThan(50);
  });

  it('begins a bucket of the new numbers, which the leases of the old one do not fill', async () => {
    await using app = await open();
    expect(byLease(await consume(app, 'bucket', 100))).toBeGreaterThan(50);
    await app.overrides.set({ policy: 'bucket', identity: ADA }, { capacity: 10 });
    const decisions = await consume(app, 'bucket', 30);
    expect(admitted(decisions)).toBe(10);
    expect(decisions[0]).toMatchObject({ decidedBy: 'store', policies: [{ limit: 10, remaining: 9 }] });
  });

  it('blocks at once, whatever is left on lease, and exempts at once', async () => {
    await using app = await open();
    await consume(app, 'bucket', 50);
    const target = { policy: 'bucket', identity: ADA };
    await app.overrides.set(target, { blocked: true });
    expect(admitted(await consume(app, 'bucket', 5))).toBe(0);
    await app.overrides.set(target, { exempt: true });
    const { leased } = app.limiter.stats().tokenLeases;
    const exempt = await consume(app, 'bucket', 5);
    expect(exempt.map(({ allowed, decidedBy }) => `${allowed} ${decidedBy}`).join()).toBe(
      'true override,true override,true override,true override,true override',
    );
    expect(app.limiter.stats().tokenLeases.leased).toBe(leased);
  });

  it('never lets two processes together pass more than its limit', async () => {
    await using first = await open();
    await using second = await open();
    const passed = admitted([...(await consume(first, 'window', 100)), ...(await consume(second, 'window', 100))]);
    expect(passed).toBe(200);
    await first.overrides.set({ policy: 'window', identity: ADA }, { limit: 400 });
    await until('the other process knows the override', 10_000, async () => {
      return (await second.limiter.peek('window', ADA)).policies[0]!.limit === 400;
    });
    // It still has tokens, which were charged.
    const { leased, returned } = second.limiter.stats().tokenLeases;
    expect(leased - returned).toBeGreaterThan(0);
    const [one, other] = await Promise.all([consume(first, 'window', 400), consume(second, 'window', 400)]);
    const both = passed + admitted(one) + admitted(other);
    expect(both).toBeLessThanOrEqual(400);
    expect(both).toBeGreaterThan(380);
  });
});

describe('the end of a process', () => {
  const peek = async (policy: string): Promise<number> => {
    await using app = await open();
    return (await app.limiter.peek(policy, ADA)).policies[0]!.remaining;
  };

  it.each(['bucket', 'window'])('returns the unused tokens of a %s', async (policy) => {
    {
      await using app = await open();
      expect(byLease(await consume(app, policy, 50))).toBeGreaterThan(20);
      const { leased, returned, expired } = app.limiter.stats().tokenLeases;
      expect([leased - returned - expired > 0, expired]).toEqual([true, 0]);
    }
    expect(await peek(policy)).toBe(CAPACITY - 50);
  });

  it('returns the tokens of a lease that comes while it ends', async () => {
    {
      await using app = await open();
      // The lease is on its way with the fourth request.
      await Promise.all(Array.from({ length: 4 }, () => app.limiter.consume('bucket', ADA)));
      void app.limiter.consume('bucket', ADA);
    }
    expect(await peek('bucket')).toBe(CAPACITY - 5);
  });

  it.each<[string, Policy]>([
    ['bucket', BUCKET],
    ['window', WINDOW],
  ])('decides what is still asked: a %s', async (name, policy) => {
    const store = new RedisStore(redis.client);
    const app = await open({ store });
    await consume(app, name, 20);
    await app[Symbol.asyncDispose]();
    const late = await app.limiter.consume(policy, ADA);
    expect(late).toMatchObject({ allowed: true, decidedBy: 'store' });
    const { leased, returned, expired } = app.limiter.stats().tokenLeases;
    expect(expired).toBe(0);
    expect(leased - returned).toBeLessThanOrEqual(20);
  });
});
