import { Controller, Get } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { type Policy, RateLimit, RateLimiter, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';

jest.setTimeout(30_000);

const ADA = { kind: 'user', value: 'ada' };
const WINDOW = { algorithm: 'fixed-window', window: '300d', by: 'user', scope: 'app' } as const;
const OWN = { ...WINDOW, name: 'own', limit: 4, else: 'credits' } as const satisfies Policy;
const PREFETCHED = {
  ...WINDOW,
  name: 'prefetched',
  limit: 200,
  else: 'credits',
  prefetch: { for: '10s', max: 100 },
} as const satisfies Policy;

@Controller()
class Routes {
  @Get()
  @RateLimit(OWN)
  get(): void {}

  @Get('closed')
  @RateLimit({ ...OWN, onStoreFailure: 'closed' })
  closed(): void {}

  @Get('prefetched')
  @RateLimit(PREFETCHED)
  prefetched(): void {}
}

let server: RedisServer;

beforeEach(async () => {
  server = await RedisServer.start();
});

afterEach(() => server.stop());

const served = (platform: (typeof PLATFORMS)[number], options: RateLimitModuleOptions = {}): Promise<HttpApp> =>
  limited(platform, Routes, {
    identity: FROM_HEADERS,
    redis: server.url,
    policies: { credits: { ...WINDOW, limit: 6 } },
    ...options,
  });

async function statuses(app: HttpApp, times: number, path = '/'): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < times; i++) all.push((await app.as('ada', path)).status);
  return all;
}

describe.each(PLATFORMS)('over %s on Redis, an else', (platform) => {
  it('runs over in the local shares while Redis is gone, and answers 503 where the first policy says so', async () => {
    await using app = await served(platform, { localShare: 2 });
    expect(await statuses(app, 1)).toEqual([200]);
    await server.kill();
    // Half of the limits: 2 of the quota, 3 of the credits.
    expect(await statuses(app, 6)).toEqual([200, 200, 200, 200, 200, 429]);
    expect((await app.as('ada', '/closed')).status).toBe(503);
    expect(app.app.get(RateLimiter).stats().runOver).toEqual([{ policy: 'own', to: 'credits', requests: 3 }]);
    expect(app.logs.of('error')).toEqual([]);
  });

  it('asks Redis once for a request that runs over while the denial cache knows that the first policy is full', async () => {
    await using app = await served(platform, { denialCache: '1s', policies: { credits: { ...WINDOW, limit: 1_000 } } });
    expect(await statuses(app, 5)).toEqual([200, 200, 200, 200, 200]);
    const limiter = app.app.get(RateLimiter);
    const admin = new Redis(server.url);
    const calls = async (): Promise<number> =>
      [...(await admin.info('commandstats')).matchAll(/cmdstat_(?:evalsha|fcall):calls=(\d+)/g)].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      );
    // Each round is shorter than the cache, or it is tried again.
    await until('a round within the cache', 20_000, async () => {
      await limiter.consume(OWN, ADA); // notes the denial anew
      const [since, before] = [performance.now(), await calls()];
      for (let i = 0; i < 10; i++) await limiter.consume(OWN, ADA);
      const asked = (await calls()) - before;
      return performance.now() - since < 900 && asked === 10;
    });
    await admin.quit();
  });

  it('takes what a prefetch has left of the first policy before it runs over', async () => {
    await using app = await served(platform);
    const limiter = app.app.get(RateLimiter);
    const by: string[] = [];
    for (let i = 0; i < 206; i++) {
      const { allowed, decidedBy, policies } = await limiter.consume(PREFETCHED, ADA);
      expect(allowed).toBe(true);
      by.push(`${policies[0]!.policy} ${decidedBy}`);
    }
    expect(by.filter((one) => one.startsWith('prefetched'))).toHaveLength(200);
    expect(by).toContain('prefetched prefetch');
    expect(by.slice(200)).toEqual(Array.from({ length: 6 }, () => 'credits store'));
    expect(await limiter.consume(PREFETCHED, ADA)).toMatchObject({ allowed: false });
  });
});
