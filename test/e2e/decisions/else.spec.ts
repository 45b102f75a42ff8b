import { Controller, Get, HttpException, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, type RateLimitModuleOptions, RateLimitOverrides } from 'nestjs-floodgate';
import { limited, type HttpApp, PLATFORMS } from '../../support/http-app.js';
import { StillStore } from '../../support/still-store.js';

const MONTHLY = { name: 'monthly', algorithm: 'fixed-window', limit: 3, window: '30d', else: 'credits' } as const;
const CREDITS = { algorithm: 'token-bucket', capacity: 2, refill: '1/h' } as const;
const OTHER = { name: 'other', algorithm: 'fixed-window', limit: 4, window: '1m' } as const;

function routeWith(first: Policy, ...more: Policy[]): Type {
  @Controller()
  class Search {
    @Get()
    @RateLimit(first, ...more)
    get(): void {}

    @Get('fails')
    @RateLimit({ ...first, name: 'monthly-fails', countIf: ({ status }) => status !== 418 })
    fails(): void {
      throw new HttpException('no tea', 418);
    }
  }
  return Search;
}

const options = (policies: Record<string, Policy> = { credits: CREDITS }): RateLimitModuleOptions => ({
  store: new StillStore(),
  policies,
  headers: 'draft-11',
});

describe.each(PLATFORMS)('over %s, a policy with an else', (platform) => {
  it('leaves what does not fit it to the other policy, and rejects when both are full', async () => {
    await using app = await limited(platform, routeWith(MONTHLY), options());
    for (let i = 0; i < 3; i++) expect((await app.send('/')).headers['ratelimit-policy']).toContain('"monthly";q=3');
    const fourth = await app.send('/');
    expect(fourth.status).toBe(200);
    expect(fourth.headers['ratelimit-policy']).toBe('"credits";q=2;w=7200');
    expect(await app.statuses(2, '/')).toEqual([200, 429]);
    const rejected = await app.send('/');
    // The credits are back sooner than the month.
    expect(rejected.body).toMatchObject({ statusCode: 429, policy: 'credits', retry_after_ms: 3_600_000 });
    expect(app.app.get(RateLimiter).stats().runOver).toEqual([{ policy: 'monthly', to: 'credits', requests: 2 }]);
  });

  it('charges nothing of a row if another policy of the request rejects', async () => {
    await using app = await limited(platform, routeWith({ ...MONTHLY, limit: 1 }, { ...OTHER, limit: 2 }), options());
    expect(await app.statuses(4, '/')).toEqual([200, 200, 429, 429]);
    const { policies } = await app.app.get(RateLimiter).peek('credits', { kind: 'ip', value: '127.0.0.1' });
    expect(policies[0]).toMatchObject({ remaining: 1 });
  });
});

describe('RateLimiter with an else', () => {
  const rider = { kind: 'user', value: 'rider-1' };
  const policies = { monthly: { ...MONTHLY, by: 'user' }, credits: { ...CREDITS, by: 'user' } } satisfies Record<
    string,
    Policy
  >;

  it('says which policy took the request, and reserves, settles and refunds there', async () => {
    await using app = await limited('Express', routeWith(OTHER), options(policies));
    const limiter = app.app.get(RateLimiter);
    expect((await limiter.consume('monthly', rider, { cost: 3 })).policies).toMatchObject([
      { policy: 'monthly', remaining: 0 },
    ]);
    const peeked = await limiter.peek('monthly', rider);
    expect(peeked).toMatchObject({
      allowed: true,
      policies: [{ policy: 'credits', insteadOf: 'monthly', remaining: 2 }],
    });
    const reservation = await limiter.reserve('monthly', rider, { cost: 2 });
    expect(reservation.decision.policies).toMatchObject([{ policy: 'credits', insteadOf: 'monthly', remaining: 0 }]);
    expect(limiter.consumeSync('monthly', rider)).toMatchObject({ allowed: false, policies: [{ policy: 'credits' }] });
    await reservation.settle(0);
    for (let i = 0; i < 2; i++) expect(limiter.consumeSync('monthly', rider)).toMatchObject({ allowed: true });
    expect(await limiter.consume('monthly', rider)).toMatchObject({ allowed: false, retryAfterMs: 3_600_000 });
    expect(limiter.stats().policies).toMatchObject([
      { policy: 'monthly', requests: 1, allowed: 1, rejected: 0 },
      { policy: 'credits', requests: 5, allowed: 3, rejected: 2 },
      { policy: 'other' },
      { policy: 'monthly-fails' },
    ]);
  });

  it('rejects a client whom an override blocks, and exempts one of the policy that would take the request', async () => {
    await using app = await limited('Express', routeWith(OTHER), options(policies));
    const limiter = app.app.get(RateLimiter);
    const overrides = app.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'monthly', identity: rider }, { blocked: true });
    expect(await limiter.consume('monthly', rider)).toMatchObject({ allowed: false, decidedBy: 'override' });
    await overrides.remove({ policy: 'monthly', identity: rider });
    await overrides.set({ policy: 'credits', identity: rider }, { capacity: 3 });
    await limiter.consume('monthly', rider, { cost: 3 });
    expect((await limiter.consume('monthly', rider)).policies).toMatchObject([
      { policy: 'credits', limit: 3, insteadOf: 'monthly', override: {} },
    ]);
    await overrides.set({ policy: 'credits', identity: rider }, { blocked: true });
    const blocked = await limiter.consume('monthly', rider);
    expect(blocked).toMatchObject({
      allowed: false,
      decidedBy: 'store',
      policies: [{ policy: 'monthly', remaining: 0 }],
    });
    await overrides.set({ policy: 'credits', identity: rider }, { exempt: true });
    for (let i = 0; i < 9; i++) expect(await limiter.consume('monthly', rider)).toMatchObject({ allowed: true });
  });
});

describe('boot refuses an else', () => {
  const boot = (first: Policy, more?: Record<string, Policy>): Promise<HttpApp> =>
    limited('Express', routeWith(first), options(more));

  it.each<[string, Policy, Record<string, Policy>, string]>([
    [
      'of an unknown policy',
      { ...MONTHLY, else: 'credit' },
      { credits: CREDITS },
      "there is no policy named 'credit'. Did you mean 'credits'?",
    ],
    ['of itself', { ...MONTHLY, else: 'monthly' }, { credits: CREDITS }, "else: 'monthly' is the policy itself"],
    [
      'that is no name',
      { ...MONTHLY, else: CREDITS as never },
      { credits: CREDITS },
      'else must be the name of one in the option policies',
    ],
  ])('%s', async (_, first, more, message) => {
    await expect(boot(first, more)).rejects.toThrow(message);
  });
});
