import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { type HttpApp, limited } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { StillStore } from '../../support/still-store.js';

const ALL = {
  algorithm: 'fixed-window',
  limit: 3,
  window: '300d',
  by: 'global',
  scope: 'app',
} as const satisfies Policy;
const POLICIES: Readonly<Record<string, Policy>> = {
  all: ALL,
  slots: { algorithm: 'concurrency', limit: 1, lease: '30s', by: 'global' },
  users: { ...ALL, by: 'user' },
};
const ADA = { kind: 'user', value: 'ada' };

@Controller()
class Routes {
  @Get()
  @RateLimit('all')
  one(): void {}

  @Get('users')
  @RateLimit('all', 'users')
  both(): void {}
}

const redis = useRedis();

const STORES: [string, () => RateLimitModuleOptions][] = [
  ['in memory', () => ({ store: new StillStore() })],
  ['in Redis', () => ({ redis: redis.server.url, deadline: '10s' })],
];

describe.each(STORES)('policies by global, %s', (_, options) => {
  const begin = (): Promise<HttpApp> => limited('Express', Routes, { policies: POLICIES, ...options() });

  it('need no identity: consume, consumeSync, peek, reserve and reset share one state with the route', async () => {
    await using app = await begin();
    const limiter = app.app.get(RateLimiter);
    expect(await limiter.consume('all')).toMatchObject({ allowed: true, policies: [{ remaining: 2 }] });
    expect(await limiter.peek('all')).toMatchObject({ policies: [{ remaining: 2 }] });
    const reservation = await limiter.reserve('all', null, { cost: 2 });
    expect(reservation.decision.policies).toMatchObject([{ remaining: 0 }]);
    expect((await app.send('/')).status).toBe(429);
    await reservation.settle(1);
    expect((await app.send('/')).status).toBe(200);
    expect(await limiter.consume(['all'], null, { cost: 1 })).toMatchObject({ allowed: false });
    // An identity that is given all the same changes nothing.
    expect(await limiter.peek('all', ADA)).toMatchObject({ policies: [{ remaining: 0 }] });
    expect(await limiter.reset('all')).toMatchObject([{ policy: 'all', scope: 'app' }]);
    expect(await limiter.consume('all', null)).toMatchObject({ policies: [{ remaining: 2 }] });
  });
});
