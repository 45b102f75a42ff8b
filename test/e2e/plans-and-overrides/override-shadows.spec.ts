import { Controller, Get } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, RateLimitOverrides } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, limited } from '../../support/http-app.js';
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

it('a block from before a policy was put in shadow rejects no request', async () => {
  const options = { identity: FROM_HEADERS, redis: redis.server.url, deadline: 10_000 };
  await using before = await limited('Express', routes('enforce'), options);
  await before.app.get(RateLimitOverrides).set({ policy: 'tried', identity: ADA }, { blocked: true });
  expect((await before.as('ada', '/tried')).status).toBe(429);
  await using after = await limited('Express', routes('shadow'), options);
  const limiter = after.app.get(RateLimiter);
  await until('the override is known', 5_000, () => limiter.stats().overrides.count === 1);
  expect((await after.as('ada', '/tried')).status).toBe(200);
  expect(await limiter.explain('GET /tried', ADA)).toMatchObject({
    isRejected: false,
    policies: [{ mode: 'shadow', outcome: 'exempt', override: { change: { blocked: true } } }],
  });
  expect((await before.as('ada', '/tried')).status).toBe(429);
});
