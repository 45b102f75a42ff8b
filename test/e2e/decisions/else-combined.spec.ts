import { setImmediate as turn } from 'node:timers/promises';
import { Controller, Get, HttpException, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { asUser, FROM_HEADERS, type HttpApp, limited } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';

const ADA = { kind: 'user', value: 'ada' };
const WINDOW = { algorithm: 'fixed-window', window: '300d', by: 'user' } as const;
const MONTHLY = { ...WINDOW, name: 'monthly', limit: 2, scope: 'app', else: 'credits' } as const satisfies Policy;
const CREDITS = { ...WINDOW, limit: 3 } as const satisfies Policy;
const LEASE = { algorithm: 'concurrency', lease: '30s', by: 'user', scope: 'app' } as const;

const redis = useRedis();

function routesWith(...policies: [Policy, ...Policy[]]): Type {
  @Controller()
  class Routes {
    @Get()
    @RateLimit(...policies)
    get(): void {}
  }
  return Routes;
}

describe.each(KINDS)('an else over $platform with $store, beside', (kind) => {
  const served = (
    routes: Type,
    options: RateLimitModuleOptions = {},
    policies: Record<string, Policy> = { credits: CREDITS },
  ): Promise<HttpApp> =>
    limited(kind.platform, routes, { identity: FROM_HEADERS, ...storeOf(kind, redis), ...options, policies });

  const statuses = (app: HttpApp, times: number, path = '/'): Promise<number[]> =>
    app.statuses(times, path, asUser('ada'));

  async function leftOf(app: HttpApp, what: string | Policy): Promise<number> {
    return (await app.app.get(RateLimiter).peek(what, ADA)).policies[0]!.remaining;
  }

  it('countIf and settle: the first policy says what the other one is refunded', async () => {
    @Controller()
    class Routes {
      @Get('counted')
      @RateLimit({ ...MONTHLY, name: 'counted', countIf: ({ status }) => status !== 418 })
      counted(): void {}

      @Get('refunded')
      @RateLimit({ ...MONTHLY, name: 'counted', countIf: ({ status }) => status !== 418 })
      refunded(): void {
        throw new HttpException('no tea', 418);
      }

      @Get('settled')
      @RateLimit({ ...MONTHLY, name: 'settled', cost: 2, settle: () => 1, else: 'budget' })
      settled(): void {}
    }
    const policies = { credits: CREDITS, budget: { ...CREDITS, limit: 10 } };
    await using app = await served(Routes, {}, policies);
    expect(await statuses(app, 2, '/counted')).toEqual([200, 200]);
    for (let i = 0; i < 5; i++) {
      expect(await statuses(app, 1, '/refunded')).toEqual([418]);
      await until('the credit is back', 5_000, async () => (await leftOf(app, 'credits')) === 3);
    }
    expect(await statuses(app, 4, '/counted')).toEqual([200, 200, 200, 429]);
    for (const budget of [10, 9, 8]) {
      await app.as('ada', '/settled');
      await until('the request is settled', 5_000, async () => (await leftOf(app, 'budget')) === budget);
    }
  });

  it('a missing identity of the other policy: 401, whatever the fallback would let pass', async () => {
    const credits: Policy = { ...CREDITS, onMissingIdentity: 'reject' };
    await using app = await served(routesWith({ ...MONTHLY, by: 'ip' }), {}, { credits });
    expect(await app.statuses(5, '/')).toEqual([200, 200, 401, 401, 401]);
    expect(await statuses(app, 4)).toEqual([200, 200, 200, 429]);
    expect(await app.statuses(1, '/')).toEqual([401]);
    expect(app.app.get(RateLimiter).stats()).toMatchObject({ sources: { local: 0, open: 0, closed: 0 } });
    expect(app.logs.of('error')).toEqual([]);
  });

  it('reservations that expire: where they were charged, and never for more than they have reserved', async () => {
    const policies = {
      own: { ...MONTHLY, name: 'own', limit: 5, cost: 5 },
      credits: { ...CREDITS, limit: 20, cost: 2 },
    };
    await using app = await served(routesWith(MONTHLY), {}, policies);
    const limiter = app.app.get(RateLimiter);
    expect((await limiter.consume('own', ADA)).allowed).toBe(true);
    const atExpiry = async (final: number) => limiter.reserve('own', ADA, { expires: '300ms', atExpiry: final });
    expect((await atExpiry(3)).decision.policies).toMatchObject([{ policy: 'credits', insteadOf: 'own' }]);
    const partly = await atExpiry(1);
    await until('both have expired', 5_000, async () => (await leftOf(app, 'credits')) === 17);
    expect(await partly.settle(0)).toMatchObject({ expired: true });
    expect(await leftOf(app, 'credits')).toBe(17);
  });

  it('a concurrency: a lease is freed in the policy that took it', async () => {
    const running: (() => void)[] = [];
    @Controller()
    class Routes {
      @Get()
      @RateLimit({ ...LEASE, name: 'own', limit: 1, else: 'common' })
      get(): Promise<void> {
        return new Promise((resolve) => running.push(resolve));
      }
    }
    await using app = await served(Routes, {}, { common: { ...LEASE, limit: 2, by: 'global' } });
    const limiter = app.app.get(RateLimiter);
    const left = async (): Promise<number[]> => [
      (await limiter.peek({ ...LEASE, name: 'own', limit: 1 }, ADA)).policies[0]!.remaining,
      (await limiter.peek('common')).policies[0]!.remaining,
    ];
    const held = Array.from({ length: 3 }, () => app.as('ada', '/'));
    await until('three run', 5_000, () => running.length === 3);
    expect(await left()).toEqual([0, 0]);
    expect((await app.as('ada', '/')).status).toBe(429);
    for (const end of running.splice(0)) end();
    await Promise.all(held);
    await until('all are free', 5_000, async () => (await left()).join() === '1,2');
  });

  it('a queue: a request that finds no waiting place runs over and does not wait', async () => {
    // The second request waits longer than the test takes.
    const queue = { name: 'queue', algorithm: 'leaky-bucket', capacity: 1, drain: '1/h', by: 'user' } as const;
    await using app = await served(routesWith({ ...queue, else: 'credits' }));
    expect(await statuses(app, 1)).toEqual([200]);
    void app.as('ada', '/').catch(() => undefined);
    const allowed = () =>
      app.app
        .get(RateLimiter)
        .stats()
        .policies.find(({ policy }) => policy === 'queue')!.allowed;
    await until('it waits', 5_000, () => allowed() === 2);
    expect((await app.as('ada', '/')).headers['x-ratelimit-limit']).toBe('3');
    expect(await leftOf(app, 'credits')).toBe(2);
  });
});

describe('a row of policies', () => {
  it('leaves no rejection unhandled where a charge fails at once beside one that fails later', async () => {
    const full = { algorithm: 'fixed-window', limit: 1, window: '1h' } as const;
    const policies = {
      late: { ...full, by: () => Promise.reject(new Error('no')) },
      missing: { ...full, by: 'user', onMissingIdentity: 'reject' },
    } satisfies Record<string, Policy>;
    @Controller()
    class Both {
      @Get()
      @RateLimit({ ...full, name: 'one', else: 'late' }, { ...full, name: 'two', else: 'missing' })
      get(): void {}
    }
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    try {
      await using app = await limited('Express', Both, { policies });
      expect((await app.send('/')).status).toBe(200);
      expect((await app.send('/')).status).toBe(401);
      await turn();
    } finally {
      process.off('unhandledRejection', note);
    }
    expect(unhandled).toEqual([]);
  });
});
