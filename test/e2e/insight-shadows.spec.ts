import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimiter, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';

const ADA = { kind: 'user', value: 'ada' };
const WINDOW = { algorithm: 'fixed-window', window: '300d', by: 'user' } as const;

@Controller()
class Routes {
  @Get('tried')
  @RateLimit({ ...WINDOW, name: 'tried', limit: 3, candidate: { limit: 1 } })
  tried(): void {}

  @Get('shadowed')
  @RateLimit({ ...WINDOW, name: 'shadowed', limit: 2, mode: 'shadow' })
  shadowed(): void {}

  @Get('blocking')
  @RateLimit({ ...WINDOW, name: 'blocking', limit: 1, window: '1ms', blockFor: '10m' })
  blocking(): void {}
}

const redis = useRedis();
const STORES: Readonly<Record<string, () => RateLimitModuleOptions>> = {
  memory: () => ({}),
  Redis: () => ({ redis: redis.server.url }),
};
const KINDS = PLATFORMS.flatMap((platform) => Object.keys(STORES).map((store) => ({ platform, store })));

async function send(app: HttpApp, times: number, path: string): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < times; i++) statuses.push((await app.as('ada', path)).status);
  return statuses;
}

describe.each(KINDS)('RateLimiter over $platform with $store', ({ platform, store }) => {
  const open = (): Promise<HttpApp> => limited(platform, Routes, { identity: FROM_HEADERS, ...STORES[store]!() });

  it('explains what a shadow counts and would reject, and that it rejects no request', async () => {
    await using app = await open();
    const limiter = app.app.get(RateLimiter);
    await send(app, 1, '/tried');
    await send(app, 2, '/tried');
    await send(app, 3, '/shadowed');
    const tried = await limiter.explain(ADA, 'GET /tried');
    expect(tried.policies).toMatchObject([
      { policy: 'tried', mode: 'enforce', outcome: 'rejected', isRejected: true, level: { limit: 3, used: 3 } },
      { policy: 'tried.candidate', mode: 'shadow', outcome: 'would-reject', isRejected: false, level: { used: 1 } },
    ]);
    const shadowed = await limiter.explain(ADA, 'GET /shadowed');
    expect(shadowed).toMatchObject({ isRejected: false, passesAt: shadowed.at });
    expect(shadowed.policies).toMatchObject([
      {
        outcome: 'would-reject',
        level: { limit: 2, used: 2, remaining: 0 },
        decidedBy: 'store',
        passesAt: shadowed.at,
      },
    ]);
    await limiter.reset(ADA, 'GET /shadowed');
    const after = await limiter.explain(ADA, 'GET /shadowed');
    expect(after.policies).toMatchObject([{ mode: 'shadow', outcome: 'passes', level: { used: 0 } }]);
  });

  it('explains a block that rejections have led to, and ends it', async () => {
    await using app = await open();
    const limiter = app.app.get(RateLimiter);
    // The window is so short that only the block can reject in a while.
    while ((await send(app, 1, '/blocking'))[0] === 200);
    const { isRejected, policies } = await limiter.explain(ADA, 'GET /blocking');
    expect(isRejected).toBe(true);
    expect(policies).toMatchObject([
      { mode: 'enforce', outcome: 'blocked', level: null, override: null, rejectedSince: null },
    ]);
    expect(policies[0]!.retryAfterMs).toBeGreaterThan(500_000);
    await limiter.reset(ADA, { policy: 'blocking' });
    expect((await limiter.explain(ADA, 'GET /blocking')).isRejected).toBe(false);
  });

  it('lists shadows and blocks, and a route under shadows alone as one that nothing limits', async () => {
    await using app = await open();
    const { routes } = app.app.get(RateLimiter).table();
    expect(
      routes.map(({ route, limited: is, policies }) => [route, is, policies.map(({ mode, block }) => [mode, block])]),
    ).toEqual([
      [
        'GET /tried',
        true,
        [
          ['enforce', null],
          ['shadow', null],
        ],
      ],
      ['GET /shadowed', false, [['shadow', null]]],
      ['GET /blocking', true, [['enforce', { forMs: 600_000, after: 1 }]]],
    ]);
  });
});
