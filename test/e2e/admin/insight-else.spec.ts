import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, RateLimitOverrides } from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const ADA = { kind: 'user', value: 'ada' };
const START = Date.UTC(2024, 0, 1);
const WINDOW = { algorithm: 'fixed-window', by: 'user' } as const;
const POLICIES = {
  monthly: { ...WINDOW, limit: 1, window: '24h', scope: 'app', else: 'credits' },
  credits: { ...WINDOW, limit: 1, window: '1h', else: 'loan' },
  loan: { ...WINDOW, limit: 1, window: '12h' },
} as const satisfies Record<string, Policy>;

@Controller()
class Routes {
  @Get('search')
  @RateLimit('monthly')
  search(): void {}

  @Get('extra')
  @RateLimit('credits')
  extra(): void {}
}

async function opened(platform: (typeof PLATFORMS)[number]): Promise<HttpApp> {
  return limited(platform, Routes, { store: new StillStore(), identity: FROM_HEADERS, policies: POLICIES });
}

describe.each(PLATFORMS)('over %s, a policy with an else', (platform) => {
  const brief = async (app: HttpApp, what: string | null): Promise<unknown[]> => {
    const { policies } = await app.app.get(RateLimiter).explain(what, ADA);
    return policies.map(({ policy, scope, outcome, insteadOf }) => [policy, scope, outcome, insteadOf]);
  };

  it('is explained with the policies that a request meets behind it', async () => {
    await using app = await opened(platform);
    const limiter = app.app.get(RateLimiter);
    expect(await brief(app, 'GET /search')).toEqual([['monthly', 'app', 'passes', null]]);
    await app.as('ada', '/search');
    const taken = [
      ['monthly', 'app', 'runs-over', null],
      ['credits', 'app', 'passes', 'monthly'],
    ];
    expect(await brief(app, 'GET /search')).toEqual(taken);
    expect(await limiter.explain('GET /search', ADA)).toMatchObject({ isRejected: false });
    for (let i = 0; i < 2; i++) await app.as('ada', '/search');
    expect(await brief(app, 'GET /search')).toEqual([
      ['monthly', 'app', 'rejected', null],
      ['credits', 'app', 'rejected', 'monthly'],
      ['loan', 'app', 'rejected', 'credits'],
    ]);
    // The credits have room first.
    const passesAt = new Date(START + 3_600_000).toISOString();
    const explained = await limiter.explain('GET /search', ADA);
    expect(explained).toMatchObject({ isRejected: true, passesAt });
    expect(new Set(explained.policies.map((one) => one.passesAt))).toEqual(new Set([passesAt]));
    expect((await app.as('ada', '/search')).body).toMatchObject({ policy: 'credits', retry_after: 3600 });
  });

  it('stands once in the explanation of all policies, and so do those behind it', async () => {
    await using app = await opened(platform);
    const all = async (): Promise<unknown[]> => brief(app, null);
    // The route has a state of its own for its credits.
    const own = ['credits', 'GET /extra', 'passes', null];
    expect(new Set(await all())).toEqual(
      new Set([
        ['monthly', 'app', 'passes', null],
        ['credits', 'app', 'passes', null],
        ['loan', 'app', 'passes', null],
        own,
      ]),
    );
    await app.as('ada', '/search');
    expect(await all()).toHaveLength(4);
    expect(await all()).toEqual(
      expect.arrayContaining([
        ['monthly', 'app', 'runs-over', null],
        ['credits', 'app', 'passes', 'monthly'],
        ['loan', 'app', 'passes', null],
        own,
      ]),
    );
  });

  it('is explained for the cost that a request takes of each policy', async () => {
    const policies = {
      ...POLICIES,
      monthly: { ...POLICIES.monthly, limit: 5, cost: 5 },
      loan: { ...POLICIES.loan, limit: 5 },
    };
    await using app = await limited(platform, Routes, { store: new StillStore(), identity: FROM_HEADERS, policies });
    expect((await app.as('ada', '/search')).status).toBe(200);
    const { policies: explained } = await app.app.get(RateLimiter).explain('GET /search', ADA);
    expect(explained.map(({ policy, outcome, cost }) => [policy, outcome, cost])).toEqual([
      ['monthly', 'runs-over', 5],
      ['credits', 'runs-over', 5],
      ['loan', 'passes', 5],
    ]);
    expect((await app.as('ada', '/search')).status).toBe(200);
    expect(app.app.get(RateLimiter).stats().runOver).toEqual([{ policy: 'monthly', to: 'loan', requests: 1 }]);
  });

  it('is reset alone, by its name and by its route', async () => {
    await using app = await opened(platform);
    const limiter = app.app.get(RateLimiter);
    for (let i = 0; i < 3; i++) await app.as('ada', '/search');
    await limiter.reset('GET /search', ADA);
    expect((await app.as('ada', '/search')).status).toBe(200);
    expect((await app.as('ada', '/search')).status).toBe(429);
    await limiter.reset('monthly', ADA);
    expect((await app.as('ada', '/search')).status).toBe(200);
    await limiter.reset('loan', ADA);
    expect((await app.as('ada', '/search')).status).toBe(200);
    expect((await app.as('ada', '/search')).status).toBe(429);
  });

  it('is explained as blocked by an override, which does not run over', async () => {
    await using app = await opened(platform);
    await app.app.get(RateLimitOverrides).set({ policy: 'monthly', identity: ADA }, { blocked: true });
    expect(await brief(app, 'GET /search')).toEqual([['monthly', 'app', 'blocked', null]]);
  });

  it('names the next policy in the table of limits', async () => {
    await using app = await opened(platform);
    const { routes, named } = app.app.get(RateLimiter).table();
    expect(routes.map(({ policies }) => policies.map((one) => [one.name, one.else]))).toEqual([
      [['monthly', 'credits']],
      [['credits', 'loan']],
    ]);
    expect(named.map((one) => [one.name, one.else])).toEqual([
      ['monthly', 'credits'],
      ['credits', 'loan'],
      ['loan', null],
    ]);
  });
});
