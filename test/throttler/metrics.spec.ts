import { Controller, Get } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { type DecisionEvent, RateLimiter, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { Throttle } from 'nestjs-floodgate/throttler';
import type { HttpApp } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { throttled } from './support/throttled.js';

@Controller()
class Closed {
  @Get('one')
  @Throttle({ default: { limit: 0 } })
  one(): void {}
}

function closed(options: RateLimitModuleOptions): Promise<HttpApp> {
  return throttled({ throttlers: [{ limit: 5, ttl: 60_000 }], ...options }, [Closed]);
}

it('counts the rejections of a throttler with limit 0, and tells onDecision of them', async () => {
  const events: DecisionEvent[] = [];
  await using app = await closed({ store: new StillStore(), onDecision: (event) => events.push(event) });
  expect(await app.statuses(3, '/one')).toEqual([429, 429, 429]);
  const { requests, rejected, sources, policies } = app.app.get(RateLimiter).stats();
  expect({ requests, rejected, store: sources.store }).toEqual({ requests: 3, rejected: 3, store: 3 });
  const algorithm = 'sliding-window-log';
  expect(policies).toEqual([
    { policy: 'default', algorithm, requests: 3, allowed: 0, rejected: 3 },
    // The first request begins the block.
    { policy: 'default block', algorithm, requests: 3, allowed: 0, rejected: 2 },
    { policy: 'default period', algorithm, requests: 3, allowed: 0, rejected: 0 },
  ]);
  const rejection = { policy: 'default', limit: 0, allowed: false, remaining: 0, retryAfterMs: null };
  const decision = {
    allowed: false,
    retryAfterMs: null,
    policies: expect.arrayContaining([expect.objectContaining(rejection)]),
  };
  expect(events).toMatchObject([{ decision }, { decision }, { decision }]);
});
