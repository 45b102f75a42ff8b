import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type DecisionEvent, RateLimit, RateLimiter, SkipRateLimit } from 'nestjs-floodgate';
import { FROM_HEADERS, limited, PLATFORMS } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const THREE = { algorithm: 'token-bucket', capacity: 3, refill: '1/h' } as const;

@Controller('shop')
class Shop {
  @Get()
  @RateLimit({ ...THREE, name: 'user' }, { ...THREE, name: 'all', capacity: 5, by: 'global', skipIf: () => false })
  buy(): void {}

  @Get('chosen')
  @RateLimit(() => THREE)
  chosen(): void {}

  @Get('skipped')
  @SkipRateLimit()
  skipped(): void {}

  noRoute(): void {}
}

const ADA = { kind: 'user', value: 'ada' };
const BOB = { kind: 'user', value: 'bob' };

describe.each(PLATFORMS)('over %s, RateLimiter.peek of a route', (platform) => {
  it('returns what the requests of an identity, or of all identities, leave of each policy', async () => {
    const events: DecisionEvent[] = [];
    const onDecision = (event: DecisionEvent): void => void events.push(event);
    await using http = await limited(platform, Shop, { store: new StillStore(), identity: FROM_HEADERS, onDecision });
    const limiter = http.app.get(RateLimiter);
    const left = async (identity: typeof ADA): Promise<unknown> => {
      const { allowed, policies } = await limiter.peek([Shop, 'buy'], identity);
      return [allowed, ...policies.map(({ policy, limit, remaining }) => `${policy} ${remaining}/${limit}`)];
    };
    expect(await left(ADA)).toEqual([true, 'user 3/3', 'all 5/5']);
    for (let i = 0; i < 3; i++) {
      expect((await http.as('ada', '/shop')).status).toBe(200);
      for (let look = 0; look < 3; look++)
        expect(await left(ADA)).toEqual([i < 2, `user ${2 - i}/3`, `all ${4 - i}/5`]);
    }
    expect(await left(BOB)).toEqual([true, 'user 3/3', 'all 2/5']);
    expect((await http.as('ada', '/shop')).status).toBe(429);
    expect(events).toHaveLength(4); // a peek is no request
  });

  it('allows all of a route without a policy, and rejects a method that it cannot peek', async () => {
    await using http = await limited(platform, Shop, { store: new StillStore() });
    const limiter = http.app.get(RateLimiter);
    expect(await limiter.peek([Shop, 'skipped'], ADA)).toMatchObject({
      allowed: true,
      policies: [],
      retryAfterMs: 0,
    });
    await expect(limiter.peek([Shop, 'chosen'], ADA)).rejects.toThrow(
      new TypeError(
        'RateLimiter.peek: Shop.chosen has policies that a function chooses: there is none without a request',
      ),
    );
    for (const method of ['noRoute', 'nothing', 'constructor']) {
      await expect(limiter.peek([Shop, method], ADA)).rejects.toThrow(`Shop.${method} is no handler of a request`);
    }
  });
});
