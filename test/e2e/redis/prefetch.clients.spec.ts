import { Controller, Get } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import {
  type Decision,
  type Identity,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RateLimitOverrides,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, left, limited } from '../../support/http-app.js';
import { until } from '../../support/faults/until.js';
import { useRedis } from '../../support/redis-fixture.js';
import { StillStore } from '../../support/still-store.js';
import { readList } from '../../support/structured-fields.js';

const redis = useRedis();
const ADA: Identity = { kind: 'user', value: 'ada' };
const CAPACITY = 1_000;
const PREFETCH = { for: '10s', max: 100 } as const;
const BUCKET = {
  name: 'bucket',
  algorithm: 'token-bucket',
  capacity: CAPACITY,
  refill: '1/h',
  prefetch: PREFETCH,
} as const;
const WINDOW = {
  name: 'window',
  algorithm: 'fixed-window',
  limit: CAPACITY,
  window: '300d',
  prefetch: PREFETCH,
} as const;

@Controller()
class Routes {
  @Get('prefetched')
  @RateLimit(BUCKET)
  prefetched(): void {}
}

interface Application extends AsyncDisposable {
  readonly limiter: RateLimiter;
  readonly overrides: RateLimitOverrides;
}

async function open(options: RateLimitModuleOptions = { redis: redis.server.url }): Promise<Application> {
  const policies = { bucket: BUCKET, window: WINDOW };
  const module = RateLimitModule.forRoot({
    guard: false,
    policies,
    onStoreFailure: 'closed',
    deadline: '10s',
    ...options,
  });
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
const byPrefetch = (decisions: readonly Decision[]): number =>
  decisions.filter(({ decidedBy }) => decidedBy === 'prefetch').length;

const ESTIMATED = 'floodgate-estimated';

describe('prefetches', () => {
  const REQUESTS = 30;
  const service = (): Promise<HttpApp> =>
    limited('Express', Routes, {
      redis: redis.server.url,
      deadline: '10s',
      identity: FROM_HEADERS,
      headers: 'x-ratelimit+draft-11',
    });

  it('say in RateLimit that an answer is an estimate, and the same number in X-RateLimit-Remaining', async () => {
    await using http = await service();
    let estimates = 0;
    for (let i = 1; i <= REQUESTS; i++) {
      const reply = await http.as('ada', '/prefetched');
      const [[name, { r, [ESTIMATED]: estimated }]] = readList(String(reply.headers.ratelimit)) as [
        [string, Record<string, unknown>],
      ];
      expect([reply.status, name, r, left(reply)]).toEqual([200, 'bucket', left(reply), left(reply)]);
      // An estimate promises nothing that is not there.
      expect(r).toBeLessThanOrEqual(CAPACITY - i);
      expect(r).toBeGreaterThan(CAPACITY - i - PREFETCH.max);
      expect([undefined, true]).toContain(estimated);
      if (estimated === true) estimates++;
      expect(reply.headers['ratelimit-policy']).not.toContain(ESTIMATED);
    }
    const { sources, prefetch } = http.app.get(RateLimiter).stats();
    expect(estimates).toBe(sources.prefetch);
    expect(estimates).toBeGreaterThan(REQUESTS / 2);
    expect(prefetch.prefetched).toBeGreaterThanOrEqual(estimates);
  });
});

describe('boot', () => {
  const boot = (options: RateLimitModuleOptions): Promise<HttpApp> => limited('Express', Routes, options);

  it("stops at a prefetch with clock: 'app', and names the route", async () => {
    await expect(boot({ redis: redis.server.url, clock: 'app' })).rejects.toThrow(
      /Routes\.prefetched.*policy 'bucket': prefetch needs Redis's clock, and clock is 'app': leave one of them out/,
    );
  });

  it('says that a prefetch has no effect with the store in the process, and the limit holds', async () => {
    await using http = await boot({ identity: FROM_HEADERS, store: new StillStore() });
    const warnings = http.logs.of('warn').filter((text) => text.includes('prefetch'));
    expect(warnings[0]).toMatch(
      /Routes\.prefetched.*: prefetch of policy 'bucket' has no effect with this store, which decides each request: it needs Redis/,
    );
    for (let i = 1; i <= 10; i++) expect(left(await http.as('ada', '/prefetched'))).toBe(CAPACITY - i);
    expect(http.app.get(RateLimiter).stats().sources.prefetch).toBe(0);
  });
});

describe('an override of a policy with prefetches', () => {
  it('takes effect with the next request where it gives less, and where it gives more', async () => {
    await using app = await open();
    expect(byPrefetch(await consume(app, 'window', 100))).toBeGreaterThan(50);
    const target = { policy: 'window', identity: ADA };
    await app.overrides.set(target, { limit: 50 });
    const [rejected] = await consume(app, 'window', 1);
    expect(rejected).toMatchObject({ allowed: false, decidedBy: 'store', policies: [{ limit: 50, remaining: 0 }] });
    // The unused tokens of the prefetch were returned: of the next limit none is lost, and none is there twice.
    await app.overrides.set(target, { limit: 300 });
    const more = await consume(app, 'window', 250);
    expect([admitted(more), more.findIndex(({ allowed }) => !allowed)]).toEqual([200, 200]);
    expect(byPrefetch(more)).toBeGreaterThan(50);
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
    const { prefetched, returned } = second.limiter.stats().prefetch;
    expect(prefetched - returned).toBeGreaterThan(0);
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
      expect(byPrefetch(await consume(app, policy, 50))).toBeGreaterThan(20);
      const { prefetched, returned, expired } = app.limiter.stats().prefetch;
      expect([prefetched - returned - expired > 0, expired]).toEqual([true, 0]);
    }
    expect(await peek(policy)).toBe(CAPACITY - 50);
  });
});
