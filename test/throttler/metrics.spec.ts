import { Controller, Get } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { expect, it } from '@jest/globals';
import { type DecisionEvent, RateLimiter, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { Throttle, ThrottlerGuard, ThrottlerModule, type ThrottlerOptions } from 'nestjs-floodgate/throttler';
import { type HttpApp, start } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';
import { StillStore } from '../support/still-store.js';
import { statuses } from './support/throttled.js';

const redis = useRedis();

@Controller()
class Closed {
  @Get('one')
  @Throttle({ default: { limit: 0 } })
  one(): void {}
}

function closed(throttler: Partial<ThrottlerOptions>, options: RateLimitModuleOptions): Promise<HttpApp> {
  return start('Express', {
    imports: [ThrottlerModule.forRoot({ throttlers: [{ limit: 5, ttl: 60_000, ...throttler }], ...options })],
    controllers: [Closed],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  });
}

const STORES: [string, () => RateLimitModuleOptions][] = [
  ['the process', () => ({ store: new StillStore() })],
  ['Redis', () => ({ redis: redis.server.url, deadline: '1s' })],
];

it.each(STORES)(
  'counts the rejections of a throttler with limit 0, and tells onDecision of them: in %s',
  async (_, of) => {
    const events: DecisionEvent[] = [];
    await using app = await closed({}, { ...of(), onDecision: (event) => events.push(event) });
    expect(await statuses(app, '/one', 3)).toEqual([429, 429, 429]);
    const { requests, rejected, sources, policies } = app.app.get(RateLimiter).stats();
    expect({ requests, rejected, store: sources.store }).toEqual({ requests: 3, rejected: 3, store: 3 });
    const algorithm = 'sliding-window-log';
    expect(policies).toEqual([
      { policy: 'default', algorithm, requests: 3, allowed: 0, rejected: 3 },
      // The first request begins the block.
      { policy: 'default block', algorithm, requests: 3, allowed: 0, rejected: 2 },
      { policy: 'default period', algorithm, requests: 3, allowed: 0, rejected: 0 },
    ]);
    expect(events.map(({ decision }) => decision.policies[0])).toEqual(
      Array.from({ length: 3 }, () =>
        expect.objectContaining({ policy: 'default', limit: 0, allowed: false, remaining: 0, retryAfterMs: null }),
      ),
    );
    expect(events.map(({ decision }) => [decision.allowed, decision.retryAfterMs])).toEqual(
      Array.from({ length: 3 }, () => [false, null]),
    );
  },
);

it('counts them without a block as well', async () => {
  await using app = await closed({ blockDuration: 0 }, { store: new StillStore() });
  expect(await statuses(app, '/one', 2)).toEqual([429, 429]);
  expect(app.app.get(RateLimiter).stats()).toMatchObject({ requests: 2, rejected: 2 });
});

it.each([
  ['local', 429, { rejected: 2, sources: { local: 2 } }],
  ['open', 200, { allowed: 2, sources: { open: 2 } }],
  ['closed', 503, { unavailable: 2, sources: { closed: 2 } }],
] as const)('counts what onStoreFailure %s makes of its requests', async (onStoreFailure, status, counts) => {
  const store = { consume: () => Promise.reject(new Error('gone')), reset: () => undefined };
  await using app = await closed({}, { store, onStoreFailure });
  expect(await statuses(app, '/one', 2)).toEqual([status, status]);
  expect(app.app.get(RateLimiter).stats()).toMatchObject({ requests: 2, ...counts });
});
