import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, type RateLimitModuleOptions, RateLimitOverrides } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, limited, PLATFORMS } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';

const ADA = { kind: 'user', value: 'ada' };
const TRIED: Policy = { name: 'tried', algorithm: 'fixed-window', limit: 2, window: '300d', by: 'user' };

function routes(mode: 'enforce' | 'shadow') {
  @Controller()
  class Routes {
    @Get('tried')
    @RateLimit({ ...TRIED, mode })
    tried(): void {}
  }
  return Routes;
}

const redis = useRedis();
const STORES: Readonly<Record<string, () => RateLimitModuleOptions>> = {
  memory: () => ({}),
  Redis: () => ({ redis: redis.server.url }),
};
const KINDS = PLATFORMS.flatMap((platform) => Object.keys(STORES).map((store) => ({ platform, store })));

describe.each(KINDS)('an override of a policy in shadow, over $platform with $store', ({ platform, store }) => {
  it('changes its numbers, leaves the client out of it, and cannot block', async () => {
    await using app = await limited(platform, routes('shadow'), { identity: FROM_HEADERS, ...STORES[store]!() });
    const overrides = app.app.get(RateLimitOverrides);
    const target = { policy: 'tried', identity: ADA };
    await expect(overrides.set(target, { blocked: true })).rejects.toThrow(
      `blocked has no effect on policy 'tried' in shadow, which rejects nobody`,
    );
    await overrides.set(target, { limit: 1 });
    expect(await app.crowd(3, '/tried', { headers: { 'X-User-Id': 'ada' } })).toEqual({ 200: 3 });
    expect(app.app.get(RateLimiter).stats().shadows).toMatchObject([{ requests: 3, allowed: 1, rejected: 2 }]);
    await overrides.set(target, { exempt: true });
    expect(await app.crowd(3, '/tried', { headers: { 'X-User-Id': 'ada' } })).toEqual({ 200: 3 });
    expect(app.app.get(RateLimiter).stats().shadows).toMatchObject([{ requests: 3 }]);
  });
});

it.each(PLATFORMS)('over %s, a block from before a policy was put in shadow rejects no request', async (platform) => {
  const options = { identity: FROM_HEADERS, ...STORES['Redis']!() };
  await using before = await limited(platform, routes('enforce'), options);
  await before.app.get(RateLimitOverrides).set({ policy: 'tried', identity: ADA }, { blocked: true });
  expect((await before.as('ada', '/tried')).status).toBe(429);
  await using after = await limited(platform, routes('shadow'), options);
  const limiter = after.app.get(RateLimiter);
  await until('the override is known', 5_000, () => limiter.stats().overrides.count === 1);
  expect((await after.as('ada', '/tried')).status).toBe(200);
  expect(await limiter.explain('GET /tried', ADA)).toMatchObject({
    isRejected: false,
    policies: [{ mode: 'shadow', outcome: 'exempt', override: { change: { blocked: true } } }],
  });
  expect((await before.as('ada', '/tried')).status).toBe(429);
});
