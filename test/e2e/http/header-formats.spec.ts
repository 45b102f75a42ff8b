import { Controller, Get, Header, Inject } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  type LeakyBucketPolicy,
  RateLimit,
  RateLimiter,
  RateLimitExceededException,
  type RateLimitModuleOptions,
  type RateLimitRequest,
  SkipRateLimit,
  type TokenBucketPolicy,
} from 'nestjs-floodgate';
import { FROM_HEADERS, limited, PLATFORMS } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';
import { ToldStore } from '../../support/told-store.js';

const ROUTE: TokenBucketPolicy = { name: 'route', algorithm: 'token-bucket', capacity: 2, refill: '1/10s' };
const QUEUE: LeakyBucketPolicy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 1, drain: '1/h' };

@Controller()
class Routes {
  constructor(@Inject(RateLimiter) private readonly limiter: RateLimiter) {}

  @Get('one')
  @RateLimit(ROUTE, { name: 'day', algorithm: 'fixed-window', limit: 100, window: '1d' })
  one(): string {
    return 'passed';
  }

  @Get('user')
  @RateLimit({ ...ROUTE, by: 'user' })
  user(): void {}

  @Get('bytes')
  @RateLimit({ ...ROUTE, capacity: 1000, quotaUnit: 'content-bytes', cost: (request) => costOf(request) })
  bytes(): void {}

  @Get('thrown')
  @SkipRateLimit()
  @Header('Cache-Control', 'public, max-age=60')
  async thrown(): Promise<void> {
    const decision = await this.limiter.consume('named', { kind: 'user', value: 'ada' });
    if (!decision.allowed) throw new RateLimitExceededException(decision);
  }

  @Get('stricter')
  @SkipRateLimit()
  @Header('Cache-Control', 'private, No-Store')
  async stricter(): Promise<void> {
    await this.thrown();
  }

  @Get('queue')
  @RateLimit(QUEUE)
  queue(): void {}
}

function costOf({ headers }: RateLimitRequest): number {
  return Number(headers['x-bytes']);
}

describe.each(PLATFORMS)('over %s', (platform) => {
  const open = (options: RateLimitModuleOptions) =>
    limited(platform, Routes, {
      store: new StillStore(),
      identity: FROM_HEADERS,
      policies: { named: { ...ROUTE, name: 'named', capacity: 1 } },
      ...options,
    });

  it('no cache stores a 429 or a 503; an allowed answer is left alone, as is a stricter value of the application', async () => {
    await using app = await open({ headers: 'draft-11' });
    expect((await app.send('/one')).headers['cache-control']).toBeUndefined();
    await app.crowd(2, '/one');
    const caching = async (path: string): Promise<unknown[]> => {
      const { status, headers } = await app.send(path);
      return [status, headers['cache-control']];
    };
    expect(await caching('/one')).toEqual([429, 'no-store']);
    expect(await caching('/thrown')).toEqual([200, 'public, max-age=60']);
    expect(await caching('/thrown')).toEqual([429, 'no-store']);
    expect(await caching('/stricter')).toEqual([429, 'private, No-Store']);
    await using closed = await open({ store: ToldStore.failing(), onStoreFailure: 'closed' });
    const { status, headers } = await closed.send('/one');
    expect([status, headers['cache-control'], headers['retry-after']]).toEqual([503, 'no-store', '1']);
  });

  it('boot warns of a quota unit that no header says', async () => {
    await using silent = await open({});
    expect(silent.logs.of('warn')).toEqual([
      "Routes.bytes: quotaUnit of policy 'route' has no effect on headers: 'x-ratelimit'; it needs headers: 'draft-11' or 'x-ratelimit+draft-11' RateLimit",
    ]);
    await using loud = await open({ headers: 'x-ratelimit+draft-11' });
    expect(loud.logs.of('warn')).toEqual([]);
  });
});
