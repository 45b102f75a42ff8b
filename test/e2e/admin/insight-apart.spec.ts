import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const ADA = { kind: 'user', value: 'ada' };
const START = Date.UTC(2024, 0, 1);
const WINDOW = { algorithm: 'fixed-window', limit: 3, window: '300d', by: 'user' } as const;
const LOGIN: Policy = { ...WINDOW, name: 'login', limit: 1, window: '1m', blockFor: '10m', blockAfter: 2 };

@Controller('door')
class Door {
  @Get()
  @RateLimit(LOGIN)
  open(): void {}

  @Get('tried')
  @RateLimit({ ...WINDOW, name: 'kept' }, { ...WINDOW, name: 'tried', limit: 1, mode: 'shadow' })
  tried(): void {}

  @Get('shadow')
  @RateLimit({ ...LOGIN, name: 'shadow', mode: 'shadow' })
  shadow(): void {}
}

function open(options: RateLimitModuleOptions = {}): Promise<HttpApp> {
  return limited('Express', Door, {
    identity: FROM_HEADERS,
    ...options,
  });
}

describe('a policy in shadow or with blockFor', () => {
  it('is explained with the block that stands: since when, until when, and when the next request passes', async () => {
    const store = new StillStore();
    await using http = await open({ store });
    const limiter = http.app.get(RateLimiter);
    const ask = async (): Promise<number> => (await http.as('ada', '/door')).status;
    expect([await ask(), await ask()]).toEqual([200, 429]);
    expect((await limiter.explain('GET /door', ADA)).policies).toMatchObject([{ outcome: 'rejected', block: null }]);
    store.advance(1500.5);
    expect(await ask()).toBe(429);
    store.advance(59_999.25);
    const began = START + 1500.5;
    const until = new Date(Math.ceil(began + 600_000)).toISOString();
    const explained = await limiter.explain('GET /door', ADA);
    expect(explained).toMatchObject({ isRejected: true, passesAt: until });
    expect(explained.policies).toMatchObject([
      {
        policy: 'login',
        mode: 'enforce',
        outcome: 'blocked',
        isRejected: true,
        level: null,
        override: null,
        decidedBy: 'store',
        block: { since: new Date(Math.floor(began)).toISOString(), until, step: 1 },
        rejectedSince: new Date(Math.floor(began)).toISOString(),
        retryAfterMs: 600_000 - 59_999.25,
        passesAt: until,
      },
    ]);
    // Asking neither counts nor makes the block longer, and what it says holds.
    store.advance(600_000 - 59_999.25 - 0.001);
    expect(await ask()).toBe(429);
    store.advance(0.001);
    expect(await ask()).toBe(200);
  });

  it('would reject, and rejects nobody', async () => {
    const store = new StillStore();
    await using http = await open({ store });
    const limiter = http.app.get(RateLimiter);
    for (const path of ['tried', 'tried', 'shadow', 'shadow', 'shadow'])
      expect((await http.as('ada', `/door/${path}`)).status).toBe(200);
    const tried = await limiter.explain('GET /door/tried', ADA);
    expect(tried).toMatchObject({ isRejected: false, passesAt: new Date(START).toISOString() });
    expect(tried.policies).toMatchObject([
      { policy: 'kept', mode: 'enforce', outcome: 'passes', level: { used: 2, limit: 3 } },
      {
        policy: 'tried',
        mode: 'shadow',
        outcome: 'would-reject',
        isRejected: false,
        rejectedSince: null,
        level: { used: 1, limit: 1, remaining: 0 },
      },
    ]);
    expect(tried.policies[1]!.retryAfterMs).toBeGreaterThan(0);
    expect((await limiter.explain('GET /door/shadow', ADA)).policies).toMatchObject([
      {
        outcome: 'would-reject',
        isRejected: false,
        level: null,
        block: { until: new Date(START + 600_000).toISOString() },
        rejectedSince: null,
      },
    ]);
    expect(await limiter.explain(null, ADA)).toMatchObject({ isRejected: false });
  });
});
