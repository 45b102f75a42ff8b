import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter } from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, limited } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const ADA = { kind: 'user', value: 'ada' };
const START = Date.UTC(2024, 0, 1);
const WINDOW = { algorithm: 'fixed-window', by: 'user' } as const;
const POLICIES = {
  monthly: { ...WINDOW, limit: 1, window: '24h', scope: 'app', else: 'credits' },
  credits: { ...WINDOW, limit: 1, window: '1h' },
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

async function opened(): Promise<HttpApp> {
  return limited('Express', Routes, { store: new StillStore(), identity: FROM_HEADERS, policies: POLICIES });
}

describe('a policy with an else', () => {
  const brief = async (app: HttpApp, what: string | null): Promise<unknown[]> => {
    const { policies } = await app.app.get(RateLimiter).explain(what, ADA);
    return policies.map(({ policy, scope, outcome, insteadOf }) => [policy, scope, outcome, insteadOf]);
  };

  it('is explained with the policies that a request meets behind it', async () => {
    await using app = await opened();
    const limiter = app.app.get(RateLimiter);
    expect(await brief(app, 'GET /search')).toEqual([['monthly', 'app', 'passes', null]]);
    await app.as('ada', '/search');
    const taken = [
      ['monthly', 'app', 'runs-over', null],
      ['credits', 'app', 'passes', 'monthly'],
    ];
    expect(await brief(app, 'GET /search')).toEqual(taken);
    expect(await limiter.explain('GET /search', ADA)).toMatchObject({ isRejected: false });
    await app.as('ada', '/search');
    expect(await brief(app, 'GET /search')).toEqual([
      ['monthly', 'app', 'rejected', null],
      ['credits', 'app', 'rejected', 'monthly'],
    ]);
    // The credits have room first.
    const passesAt = new Date(START + 3_600_000).toISOString();
    const explained = await limiter.explain('GET /search', ADA);
    expect(explained).toMatchObject({ isRejected: true, passesAt });
    expect(new Set(explained.policies.map((one) => one.passesAt))).toEqual(new Set([passesAt]));
    expect((await app.as('ada', '/search')).body).toMatchObject({ policy: 'credits', retry_after: 3600 });
  });
});
