import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter } from 'nestjs-floodgate';
import { limited } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';

const ALL = {
  algorithm: 'fixed-window',
  limit: 3,
  window: '300d',
  by: 'global',
  scope: 'app',
} as const satisfies Policy;
const ADA = { kind: 'user', value: 'ada' };

@Controller()
class Routes {
  @Get()
  @RateLimit('all')
  one(): void {}
}

const redis = useRedis();

describe.each(KINDS)('policies by global, over $platform in $store', (kind) => {
  it('need no identity: consume, consumeSync, peek, reserve and reset share one state with the route', async () => {
    await using app = await limited(kind.platform, Routes, { policies: { all: ALL }, ...storeOf(kind, redis) });
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
