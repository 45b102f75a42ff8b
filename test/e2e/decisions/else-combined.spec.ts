import { setImmediate as turn } from 'node:timers/promises';
import { Controller, Get, HttpException, type Type } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import {
  type DecisionEvent,
  type Policy,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';

jest.setTimeout(30_000);

const ADA = { kind: 'user', value: 'ada' };
const WINDOW = { algorithm: 'fixed-window', window: '300d', by: 'user' } as const;
const MONTHLY = { ...WINDOW, name: 'monthly', limit: 2, scope: 'app', else: 'credits' } as const satisfies Policy;
const CREDITS = { ...WINDOW, limit: 3 } as const satisfies Policy;
const LEASE = { algorithm: 'concurrency', lease: '30s', by: 'user', scope: 'app' } as const;

const redis = useRedis();
const STORES: Readonly<Record<string, () => RateLimitModuleOptions>> = {
  memory: () => ({}),
  Redis: () => ({ redis: redis.server.url }),
};
const KINDS = PLATFORMS.flatMap((platform) => Object.keys(STORES).map((store) => ({ platform, store })));

function routesWith(...policies: [Policy, ...Policy[]]): Type {
  @Controller()
  class Routes {
    @Get()
    @RateLimit(...policies)
    get(): void {}
  }
  return Routes;
}

describe.each(KINDS)('an else over $platform with $store, beside', ({ platform, store }) => {
  const served = (
    routes: Type,
    options: RateLimitModuleOptions = {},
    policies: Record<string, Policy> = { credits: CREDITS },
  ): Promise<HttpApp> =>
    limited(platform, routes, { identity: FROM_HEADERS, deadline: '5s', ...STORES[store]!(), ...options, policies });

  async function statuses(app: HttpApp, times: number, path = '/'): Promise<number[]> {
    const all: number[] = [];
    for (let i = 0; i < times; i++) all.push((await app.as('ada', path)).status);
    return all;
  }

  async function leftOf(app: HttpApp, what: string | Policy): Promise<number> {
    return (await app.app.get(RateLimiter).peek(what, ADA)).policies[0]!.remaining;
  }

  it('a policy with blockAfter: each request counts one rejection, however many questions it takes', async () => {
    const guard: Policy = { ...WINDOW, name: 'guard', limit: 2, blockFor: '10m', blockAfter: 3 };
    await using app = await served(routesWith(MONTHLY, guard));
    expect(await statuses(app, 2)).toEqual([200, 200]);
    // The month is full, so each of these is asked twice.
    const blocks = async (): Promise<boolean> => {
      const { body } = await app.as('ada', '/');
      const { policies } = await app.app.get(RateLimiter).explain('GET /', ADA);
      expect(body).toMatchObject({ policy: 'guard' });
      return policies.some(({ block }) => block !== null);
    };
    expect([await blocks(), await blocks(), await blocks()]).toEqual([false, false, true]);
    expect(await leftOf(app, 'credits')).toBe(3);
  });

  it('a shadow with blockAfter: what it would have rejected counts once', async () => {
    const shadow: Policy = { ...WINDOW, name: 'tried', limit: 2, mode: 'shadow', blockFor: '10m', blockAfter: 4 };
    await using app = await served(routesWith(MONTHLY, shadow));
    expect(await statuses(app, 5)).toEqual([200, 200, 200, 200, 200]);
    const { policies } = await app.app.get(RateLimiter).explain('GET /', ADA);
    expect(policies.find(({ policy }) => policy === 'tried')).toMatchObject({ block: null });
    expect(app.app.get(RateLimiter).stats().shadows).toMatchObject([{ requests: 5, allowed: 2, rejected: 3 }]);
  });

  it('a second policy of a row with blockFor: a request that neither takes begins the block, once', async () => {
    const bucket = { algorithm: 'token-bucket', capacity: 3, refill: '1/m', by: 'user' } as const;
    const credits: Policy = { ...bucket, blockFor: '10m', blockAfter: 2 };
    await using app = await served(routesWith(MONTHLY), {}, { credits });
    expect(await statuses(app, 6)).toEqual([200, 200, 200, 200, 200, 429]);
    expect((await app.as('ada', '/')).body).toMatchObject({ policy: 'credits', retry_after: 600 });
  });

  it('a candidate: it is charged and counted once for each request', async () => {
    await using app = await served(routesWith({ ...MONTHLY, candidate: { limit: 4 } }));
    expect(await statuses(app, 6)).toEqual([200, 200, 200, 200, 200, 429]);
    const { shadows, policies } = app.app.get(RateLimiter).stats();
    expect(shadows).toMatchObject([{ policy: 'monthly.candidate', requests: 6, allowed: 4, rejected: 2 }]);
    expect(policies.find(({ policy }) => policy === 'credits')).toMatchObject({ allowed: 3, rejected: 0 });
  });

  it('plans, and a time zone of the request: RateLimiter runs over under their numbers', async () => {
    const planned: Policy = { ...MONTHLY, plans: { pro: { limit: 1 } } };
    const zoned: Policy = { ...MONTHLY, name: 'zoned', window: { calendar: 'month', timeZone: () => 'UTC' } };
    const policies = { planned: { ...planned, name: undefined } as Policy, zoned, credits: CREDITS };
    await using app = await served(
      routesWith({ ...WINDOW, name: 'other', limit: 1 }),
      { plan: { resolve: () => null } },
      policies,
    );
    const limiter = app.app.get(RateLimiter);
    const charged = async (name: string, options: object): Promise<string[]> => {
      const all: string[] = [];
      for (let i = 0; i < 5; i++) {
        const { allowed, policies: told } = await limiter.consume(name, { kind: 'user', value: name }, options);
        all.push(allowed ? told[0]!.policy : 'none');
      }
      return all;
    };
    expect(await charged('planned', { plan: 'pro' })).toEqual(['planned', 'credits', 'credits', 'credits', 'none']);
    expect(await charged('zoned', { timeZone: 'UTC' })).toEqual(['zoned', 'zoned', 'credits', 'credits', 'credits']);
  });

  it('overrides of another policy: an exemption leaves the row in its place', async () => {
    await using app = await served(routesWith({ ...WINDOW, name: 'other', limit: 1 }, MONTHLY));
    const overrides = app.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'other', identity: ADA }, { exempt: true });
    expect(await statuses(app, 6)).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await leftOf(app, 'credits')).toBe(0);
    await overrides.set({ policy: 'credits', identity: ADA }, { limit: 4 });
    expect(await statuses(app, 2)).toEqual([200, 429]);
    await overrides.set({ policy: 'monthly', identity: ADA }, { limit: 3 });
    expect(await statuses(app, 2)).toEqual([200, 429]);
    expect(app.app.get(RateLimiter).stats().runOver).toEqual([{ policy: 'monthly', to: 'credits', requests: 4 }]);
  });

  it('an override of the second policy: the decision still names the policy that the request did not fit', async () => {
    const decisions: DecisionEvent['decision'][] = [];
    const onDecision: RateLimitModuleOptions['onDecision'] = ({ decision }) => void decisions.push(decision);
    await using app = await served(routesWith(MONTHLY), { onDecision });
    await app.app.get(RateLimitOverrides).set({ policy: 'credits', identity: ADA }, { limit: 1 });
    expect(await statuses(app, 3)).toEqual([200, 200, 200]);
    const taken = { policy: 'credits', limit: 1, override: expect.any(Number), insteadOf: 'monthly' };
    expect(decisions.at(-1)!.policies).toEqual([expect.objectContaining(taken)]);
    expect((await app.app.get(RateLimiter).peek(MONTHLY, ADA)).policies).toMatchObject([{ policy: 'monthly' }]);
  });

  it('an override of a policy with blockAfter: each request counts one rejection', async () => {
    const guard: Policy = { ...WINDOW, name: 'guard', limit: 9, blockFor: '10m', blockAfter: 3 };
    await using app = await served(routesWith(MONTHLY, guard));
    await app.app.get(RateLimitOverrides).set({ policy: 'guard', identity: ADA }, { limit: 2 });
    expect(await statuses(app, 4)).toEqual([200, 200, 429, 429]);
    const isBlocked = async (): Promise<boolean> => {
      const { policies } = await app.app.get(RateLimiter).explain('GET /', ADA);
      return policies.some(({ block }) => block !== null);
    };
    expect(await isBlocked()).toBe(false);
    expect(await statuses(app, 1)).toEqual([429]);
    expect(await isBlocked()).toBe(true);
  });

  it('an override that blocks at the second policy: only requests that run over are rejected', async () => {
    await using app = await served(routesWith(MONTHLY));
    await app.app.get(RateLimitOverrides).set({ policy: 'credits', identity: ADA }, { blocked: true });
    expect(await statuses(app, 4)).toEqual([200, 200, 429, 429]);
  });

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
    for (let i = 1; i <= 3; i++) {
      await app.as('ada', '/settled');
      const wanted = i === 1 ? [1, 10] : [1, 10 - (i - 1)];
      await until('the request is settled', 5_000, async () => {
        return (
          (await leftOf(app, { ...WINDOW, name: 'settled', limit: 2 })) === wanted[0] &&
          (await leftOf(app, 'budget')) === wanted[1]
        );
      });
    }
  });

  it('plans: each policy of the row has its own numbers of the plan', async () => {
    const credits: Policy = { ...CREDITS, plans: { pro: { limit: 1 } } };
    const planOf = ({ headers }: RateLimitRequest<{ headers: Record<string, unknown> }>): string | undefined =>
      headers['x-user-id'] === 'ada' ? 'pro' : undefined;
    await using app = await served(
      routesWith({ ...MONTHLY, plans: { pro: { limit: 3 } } }),
      { plan: { resolve: planOf } },
      { credits },
    );
    expect(await statuses(app, 5)).toEqual([200, 200, 200, 200, 429]);
  });

  it('priorities: a class that has used its part runs over, and the higher class still has the rest', async () => {
    const first: Policy = { ...MONTHLY, limit: 4, priorities: { rides: 1, estimates: 0.5 } };
    @Controller()
    class Routes {
      @Get('ride')
      @RateLimit(first)
      ride(): void {}

      @Get('estimate')
      @RateLimit({ ...first, priority: 'estimates' })
      estimate(): void {}
    }
    await using app = await served(Routes);
    expect(await statuses(app, 3, '/estimate')).toEqual([200, 200, 200]);
    expect(await leftOf(app, 'credits')).toBe(2);
    expect(await statuses(app, 2, '/ride')).toEqual([200, 200]);
    expect(await leftOf(app, 'credits')).toBe(2);
    expect(await statuses(app, 3, '/ride')).toEqual([200, 200, 429]);
  });

  describe('classes in each policy of the row:', () => {
    const classes = { priorities: { rides: 1, estimates: 0.5 } } as const;
    const first = { ...MONTHLY, ...classes, else: 'plain' } as const satisfies Policy;
    const policies = {
      monthly: first,
      // A policy without classes hands the request's class on.
      plain: { ...CREDITS, limit: 1, else: 'credits' },
      credits: { ...CREDITS, ...classes, limit: 2 },
    } satisfies Record<string, Policy>;

    @Controller()
    class Routes {
      @Get('named')
      @RateLimit({ ...first, priority: 'estimates' })
      named(): void {}

      @Get('used')
      @RateLimit({ policy: 'monthly', priority: 'estimates' })
      used(): void {}

      @Get('asked')
      @RateLimit({ ...first, priority: () => Promise.resolve('estimates') })
      asked(): void {}

      @Get('failing')
      @RateLimit({ ...first, priority: () => Promise.reject(new Error('no')) })
      failing(): void {}

      @Get('ride')
      @RateLimit('monthly')
      ride(): void {}
    }

    it.each(['named', 'used', 'asked', 'failing'])('a request keeps its class in all of them (%s)', async (path) => {
      await using app = await served(Routes, {}, policies);
      expect(await statuses(app, 4, `/${path}`)).toEqual([200, 200, 200, 429]);
      const { policies: told } = await app.app.get(RateLimiter).explain(`GET /${path}`, ADA, { priority: 'estimates' });
      expect(told.map(({ policy, priority, isRejected }) => [policy, priority, isRejected])).toEqual([
        ['monthly', 'estimates', true],
        ['plain', null, true],
        ['credits', 'estimates', true],
      ]);
      // The reserves of both are left for rides.
      expect(await statuses(app, 3, '/ride')).toEqual([200, 200, 429]);
    });

    it('a call of RateLimiter keeps that of its first policy', async () => {
      const own = { ...policies, monthly: { ...first, priority: 'estimates' } } satisfies Record<string, Policy>;
      await using app = await served(Routes, {}, own);
      const limiter = app.app.get(RateLimiter);
      const taken = async (): Promise<unknown[]> => {
        const { allowed, policies: told } = await limiter.consume('monthly', ADA);
        return [allowed, told[0]!.policy, told[0]!.priority];
      };
      expect([await taken(), await taken(), await taken()]).toEqual([
        [true, 'monthly', 'estimates'],
        [true, 'plain', undefined],
        [true, 'credits', 'estimates'],
      ]);
      expect((await taken())[0]).toBe(false);
      const { policies: told } = await limiter.explain('monthly', ADA);
      expect(told.map(({ priority }) => priority)).toEqual(['estimates', null, 'estimates']);
    });

    it('a policy with a priority of its own has that one', async () => {
      const own = { ...policies, credits: { ...policies.credits, priority: 'rides' } } satisfies Record<string, Policy>;
      await using app = await served(Routes, {}, own);
      const limiter = app.app.get(RateLimiter);
      expect(await statuses(app, 4, '/named')).toEqual([200, 200, 200, 200]);
      const { policies: told } = await limiter.explain('GET /named', ADA, { priority: 'estimates' });
      expect(told.map(({ policy, priority }) => [policy, priority])).toEqual([
        ['monthly', 'estimates'],
        ['plain', null],
        ['credits', 'rides'],
      ]);
      await limiter.reset('credits', ADA);
      for (let i = 0; i < 2; i++) {
        const { allowed, policies: taken } = await limiter.consume('monthly', ADA, { priority: 'estimates' });
        expect([allowed, taken[0]!.priority]).toEqual([true, 'rides']);
      }
      expect(await statuses(app, 1, '/named')).toEqual([429]);
    });

    it('a policy with a priority of its own may have other classes', async () => {
      const credits: Policy = { ...CREDITS, priorities: { paid: 1, free: 0.5 }, priority: 'free', limit: 2 };
      await using app = await served(Routes, {}, { ...policies, credits });
      const limiter = app.app.get(RateLimiter);
      const taken = async (): Promise<unknown> =>
        (await limiter.consume('monthly', ADA, { priority: 'estimates' })).policies[0]!.priority;
      expect([await taken(), await taken(), await taken()]).toEqual(['estimates', undefined, 'free']);
      await expect(limiter.consume('monthly', ADA, { priority: 'free' })).rejects.toThrow("no class 'free'");
    });
  });

  it('a time zone of its own for each policy of the row', async () => {
    const window = { calendar: 'month', timeZone: () => 'Europe/Paris' } as const;
    await using app = await served(routesWith({ ...MONTHLY, window }), {}, { credits: { ...CREDITS, window } });
    expect(await statuses(app, 6)).toEqual([200, 200, 200, 200, 200, 429]);
  });

  it('a cost of its own: the request takes what each policy says', async () => {
    await using app = await served(routesWith({ ...MONTHLY, cost: 2 }), {}, { credits: { ...CREDITS, cost: 3 } });
    expect(await statuses(app, 3)).toEqual([200, 200, 429]);
    await using same = await served(routesWith({ ...MONTHLY, name: 'same', cost: 2 }), {}, { credits: CREDITS });
    await same.app.get(RateLimiter).reset('credits', ADA);
    expect(await statuses(same, 3)).toEqual([200, 200, 429]);
    expect(await leftOf(same, 'credits')).toBe(1);
  });

  it('a missing identity of the other policy: 401, whatever the fallback would let pass', async () => {
    const credits: Policy = { ...CREDITS, onMissingIdentity: 'refuse' };
    await using app = await served(routesWith({ ...MONTHLY, by: 'ip' }), {}, { credits });
    const anonymous = async (times: number): Promise<number[]> => {
      const all: number[] = [];
      for (let i = 0; i < times; i++) all.push((await app.send('/')).status);
      return all;
    };
    expect(await anonymous(5)).toEqual([200, 200, 401, 401, 401]);
    expect(await statuses(app, 4)).toEqual([200, 200, 200, 429]);
    expect(await anonymous(1)).toEqual([401]);
    expect(app.app.get(RateLimiter).stats()).toMatchObject({ sources: { local: 0, open: 0, closed: 0 } });
    expect(app.logs.of('error')).toEqual([]);
  });

  it('a wrong cost of the other policy: a logged 500, and nothing is charged', async () => {
    const cost = ({ query }: RateLimitRequest<{ query: { cost?: string } }>): number => Number(query.cost ?? 1);
    await using app = await served(routesWith(MONTHLY), {}, { credits: { ...CREDITS, cost } });
    expect(await statuses(app, 2)).toEqual([200, 200]);
    expect(await statuses(app, 2, '/?cost=-1')).toEqual([500, 500]);
    expect(await statuses(app, 2, '/?cost=3')).toEqual([200, 429]);
    expect(app.app.get(RateLimiter).stats().sources).toMatchObject({ local: 0, open: 0, closed: 0 });
  });

  it('reservations that expire: where they were charged, and never for more than they have reserved', async () => {
    const policies = {
      own: { ...MONTHLY, name: 'own', limit: 5, cost: 5 },
      credits: { ...CREDITS, limit: 20, cost: 2 },
    };
    await using app = await served(routesWith(MONTHLY), {}, policies);
    const limiter = app.app.get(RateLimiter);
    expect((await limiter.consume('own', ADA)).allowed).toBe(true);
    const cancelled = await limiter.reserve('own', ADA, { expires: '300ms', atExpiry: 'cancel' });
    expect(cancelled.decision.policies).toMatchObject([{ policy: 'credits', insteadOf: 'own', remaining: 18 }]);
    await until('it has expired', 5_000, async () => (await leftOf(app, 'credits')) === 20);
    await limiter.reserve('own', ADA, { expires: '300ms', atExpiry: 3 });
    const partly = await limiter.reserve('own', ADA, { expires: '300ms', atExpiry: 1 });
    expect(await leftOf(app, 'credits')).toBe(16);
    await until('both have expired', 5_000, async () => (await leftOf(app, 'credits')) === 17);
    expect(await partly.settle(0)).toMatchObject({ expired: true });
    expect(await leftOf(app, 'credits')).toBe(17);
  });

  it('a concurrency: a lease is freed in the policy that took it', async () => {
    let running: (() => void)[] = [];
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
    running = [];

    const [first, second, third, fourth] = [
      await limiter.acquire({ ...LEASE, name: 'own', limit: 1, else: 'common' }, ADA),
      await limiter.acquire({ ...LEASE, name: 'own', limit: 1, else: 'common' }, ADA),
      await limiter.acquire({ ...LEASE, name: 'own', limit: 1, else: 'common' }, ADA),
      await limiter.acquire({ ...LEASE, name: 'own', limit: 1, else: 'common' }, ADA),
    ];
    expect([first, second, third, fourth].map(({ allowed }) => allowed)).toEqual([true, true, true, false]);
    second.release();
    await until('one of the common ones is free', 5_000, async () => (await left()).join() === '0,1');
    first.release();
    third.release();
    fourth.release();
    await until('all are free', 5_000, async () => (await left()).join() === '1,2');
  });

  it('a queue: a request that finds no waiting place runs over and does not wait', async () => {
    const queue = { name: 'queue', algorithm: 'leaky-bucket', capacity: 1, drain: '1/2s', by: 'user' } as const;
    await using app = await served(routesWith({ ...queue, else: 'credits' }));
    expect(await statuses(app, 1)).toEqual([200]);
    const since = performance.now();
    const waiting = app.as('ada', '/').then(({ status }) => [status, performance.now() - since > 1_000]);
    await until('it waits', 5_000, () =>
      app.app
        .get(RateLimiter)
        .stats()
        .policies.some((one) => one.policy === 'queue' && one.allowed === 2),
    );
    expect((await app.as('ada', '/')).headers['x-ratelimit-limit']).toBe('3');
    expect(await waiting).toEqual([200, true]);
    expect(await leftOf(app, 'credits')).toBe(2);
  });
});

describe('a row of policies', () => {
  it('leaves no rejection unhandled where a charge fails at once beside one that fails later', async () => {
    const full = { algorithm: 'fixed-window', limit: 1, window: '1h' } as const;
    const policies = {
      late: { ...full, by: () => Promise.reject(new Error('no')) },
      missing: { ...full, by: 'user', onMissingIdentity: 'refuse' },
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

  it('lets a scheduled call run over', async () => {
    const policies = {
      one: { algorithm: 'fixed-window', limit: 1, window: '1h', by: 'global', else: 'two' },
      two: { algorithm: 'fixed-window', limit: 1, window: '1h', by: 'global' },
    } satisfies Record<string, Policy>;
    await using app = await limited('Express', routesWith({ ...WINDOW, name: 'unused', limit: 1 }), { policies });
    const limiter = app.app.get(RateLimiter);
    for (const at of ['one', 'two']) expect(await limiter.schedule('one', () => at)).toBe(at);
    await expect(limiter.schedule('one', () => 'three', { maxWaitMs: 0 })).rejects.toThrow('maxWaitMs');
    await expect(limiter.reserve('one')).resolves.toMatchObject({ allowed: false });
  });
});
