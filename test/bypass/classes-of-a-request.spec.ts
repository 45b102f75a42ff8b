import { Controller, Get, Req, Res, type Type } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  chargedBy,
  type Decision,
  type Policy,
  RateLimit,
  RateLimitDecision,
  RateLimiter,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  SkipRateLimit,
} from 'nestjs-floodgate';
import { type HttpApp, limited, PLATFORMS } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';

const SHARED = { by: 'ip', scope: 'app', priorities: { rides: 1, estimates: 0.5 } } as const;
/** Each has room for ten requests. */
const POLICIES: readonly (Policy & typeof SHARED)[] = [
  { ...SHARED, algorithm: 'fixed-window', limit: 10, window: '300d' },
  { ...SHARED, algorithm: 'sliding-window-counter', limit: 10, window: '300d' },
  { ...SHARED, algorithm: 'sliding-window-log', limit: 10, window: '300d' },
  { ...SHARED, algorithm: 'token-bucket', capacity: 10, refill: '1/300d' },
];

function routesOf(policy: Policy & typeof SHARED): Type {
  @Controller()
  class Routes {
    @Get('ride')
    @RateLimit({ ...policy, name: 'api' })
    ride(): void {}

    @Get('estimate')
    @RateLimit({ ...policy, name: 'api', priority: 'estimates' })
    estimate(): void {}
  }
  return Routes;
}

const redis = useRedis();
const STORES: Readonly<Record<string, () => RateLimitModuleOptions>> = {
  memory: () => ({}),
  Redis: () => ({ redis: redis.server.url }),
};
const KINDS = PLATFORMS.flatMap((platform) =>
  Object.keys(STORES).flatMap((store) =>
    POLICIES.map((policy) => ({ platform, store, policy, algorithm: policy.algorithm })),
  ),
);

async function passing(app: HttpApp, path: string, times: number): Promise<number> {
  let passed = 0;
  for (let i = 0; i < times; i++) passed += Number((await app.send(path)).status === 200);
  return passed;
}

describe.each(KINDS)(
  'a policy of the middleware, which gives a request its first class ($algorithm, $platform, $store)',
  (kind) => {
    const served = (): Promise<HttpApp> =>
      limited(kind.platform, routesOf(kind.policy), {
        ...STORES[kind.store]!(),
        policies: { api: kind.policy },
        middleware: ['api'],
      });

    it('leaves the lower class of the route in force, and charges the request once', async () => {
      await using app = await served();
      expect(await passing(app, '/estimate', 5)).toBe(5);
      expect(await passing(app, '/estimate', 20)).toBe(0);
      // The rejected estimates have cost the reserve of the rides nothing.
      expect(await passing(app, '/ride', 6)).toBe(5);
    });
  },
);

const WINDOW = { algorithm: 'fixed-window', window: '300d', by: 'global' } as const;
const CREDITS: Policy = { ...WINDOW, limit: 6 };
const CLASSES = { priorities: { rides: 1, estimates: 0.5 }, else: 'credits', scope: 'app' } as const;
/** Each has room for four requests, and for two of the lower class. The last ones are settled. */
const ROWS: Readonly<Record<string, Policy>> = {
  'a window': { ...WINDOW, ...CLASSES, limit: 4 },
  'a bucket': { ...CLASSES, algorithm: 'token-bucket', capacity: 4, refill: '1/300d', by: 'global' },
  'a window with countIf': { ...WINDOW, ...CLASSES, limit: 4, countIf: ({ status }) => status === 200 },
  'a window with settle': { ...WINDOW, ...CLASSES, limit: 4, settle: () => 1 },
};
const RUNS = PLATFORMS.flatMap((platform) =>
  Object.keys(STORES).flatMap((store) => Object.keys(ROWS).map((kind) => ({ platform, store, kind }))),
);

@Controller()
class Charged {
  @Get('estimate')
  @RateLimit({ policy: 'api', priority: 'estimates' })
  estimate(@RateLimitDecision() decision: Decision): unknown {
    return chargedBy(decision);
  }

  @Get('ride')
  @RateLimit('api')
  ride(@RateLimitDecision() decision: Decision): unknown {
    return chargedBy(decision);
  }
}

/** What is left of both policies; undefined where an override exempts the client. */
async function left(app: HttpApp): Promise<readonly (number | undefined)[]> {
  const limiter = app.app.get(RateLimiter);
  const levels = ['api', 'credits'].map(async (policy) => {
    const { policies } = await limiter.explain(policy, null);
    return policies[0]!.level?.remaining;
  });
  return Promise.all(levels);
}

describe.each(RUNS)(
  'a policy of the middleware, $kind whose estimates run over into credits ($platform, $store)',
  ({ platform, store, kind }) => {
    it('gives back what it was charged for a request that the credits pay', async () => {
      await using app = await limited(platform, Charged, {
        ...STORES[store]!(),
        policies: { api: ROWS[kind]!, credits: CREDITS },
        middleware: ['api'],
      });
      const seen: unknown[] = [];
      for (let i = 0; i < 5; i++) {
        const { status, body, headers } = await app.send('/estimate');
        seen.push([status, body, headers['x-ratelimit-limit']]);
      }
      const own = [200, [expect.objectContaining({ policy: 'api', cost: 1 })], '2'];
      const paid = [200, [expect.objectContaining({ policy: 'credits', cost: 1 })], '6'];
      expect(seen).toEqual([own, own, paid, paid, paid]);
      expect(await left(app)).toEqual([2, 3]);
      expect(await passing(app, '/ride', 6)).toBe(5);
      expect(await left(app)).toEqual([0, 0]);
      expect(await passing(app, '/estimate', 2)).toBe(0);
    });
  },
);

describe.each(PLATFORMS)('a request that costs more by its route than before routing, over %s', (platform) => {
  it('runs over as a whole', async () => {
    @Controller()
    class Exports {
      @Get('export')
      @RateLimit('api')
      export(@RateLimitDecision() decision: Decision): unknown {
        return chargedBy(decision);
      }
    }
    let asked = 0;
    const cost = (): number => [1, 3][asked++ % 2]!;
    const api: Policy = { ...WINDOW, scope: 'app', limit: 4, cost, else: 'credits' };
    await using app = await limited(platform, Exports, { policies: { api, credits: CREDITS }, middleware: ['api'] });
    expect((await app.send('/export')).body).toMatchObject([{ policy: 'api', cost: 3 }]);
    expect((await app.send('/export')).body).toMatchObject([{ policy: 'credits', cost: 3 }]);
    expect(await left(app)).toEqual([1, 3]);
  });
});

describe.each(PLATFORMS)('a concurrency of the middleware over %s', (platform) => {
  it('releases the place of a request that runs over before its handler runs', async () => {
    const during: unknown[] = [];
    @Controller()
    class Jobs {
      constructor(private readonly limiter: RateLimiter) {}

      @Get('estimate')
      @RateLimit({ policy: 'api', priority: 'estimates' })
      async estimate(@RateLimitDecision() decision: Decision): Promise<void> {
        const other = await this.limiter.acquire('api');
        during.push([decision, other.decision].map((one) => chargedBy(one).map(({ policy }) => policy)));
        other.release();
      }
    }
    const leased = { algorithm: 'concurrency', lease: '30s', by: 'global', scope: 'app' } as const;
    const api: Policy = { ...leased, ...CLASSES, limit: 2 };
    await using app = await limited(platform, Jobs, { policies: { api, credits: CREDITS }, middleware: ['api'] });
    const held = await app.app.get(RateLimiter).acquire('api');
    expect(held.decision.allowed).toBe(true);
    expect((await app.send('/estimate')).status).toBe(200);
    expect(during).toEqual([[['credits'], ['api']]]);
    expect(await left(app)).toEqual([1, 5]);
    held.release();
  });
});

describe.each(PLATFORMS.flatMap((platform) => Object.keys(STORES).map((store) => ({ platform, store }))))(
  'a policy of the middleware whose estimates run over, over $platform with $store,',
  ({ platform, store }) => {
    const api: Policy = { ...WINDOW, ...CLASSES, limit: 6 };
    const open = (routes: Type, more: RateLimitModuleOptions = {}): Promise<HttpApp> =>
      limited(platform, routes, {
        ...STORES[store]!(),
        policies: { api, credits: CREDITS },
        middleware: ['api'],
        ...more,
      });

    it('gets its charge back where an override exempts the client from the credits', async () => {
      await using app = await open(Charged);
      await app.app.get(RateLimitOverrides).set({ policy: 'credits' }, { exempt: true });
      expect(await passing(app, '/estimate', 6)).toBe(6);
      expect((await left(app))[0]).toBe(3);
    });

    it('keeps the reserve where another policy rejects the estimates, also by the denial cache', async () => {
      @Controller()
      class Strict {
        @Get('estimate')
        @RateLimit({ policy: 'api', priority: 'estimates' }, { ...WINDOW, name: 'strict', limit: 1 })
        estimate(): void {}
      }
      await using app = await open(Strict);
      expect(await passing(app, '/estimate', 10)).toBe(1);
      const [own, credits] = await left(app);
      expect(own).toBeGreaterThanOrEqual(3);
      expect(credits).toBe(6);
    });
  },
);

describe('a request that a handler dispatches again', () => {
  it('gets back what the middleware has charged it', async () => {
    let again = (_request: unknown, _response: unknown): void => undefined;
    @Controller()
    class Old extends Charged {
      @Get('old')
      @SkipRateLimit()
      old(@Req() request: { url: string }, @Res() response: unknown): void {
        request.url = '/estimate';
        again(request, response);
      }
    }
    const api: Policy = { ...WINDOW, ...CLASSES, limit: 4 };
    await using app = await limited('Express', Old, { policies: { api, credits: CREDITS }, middleware: ['api'] });
    again = app.app.getHttpAdapter().getInstance() as typeof again;
    expect(await passing(app, '/old', 5)).toBe(5);
    expect(await left(app)).toEqual([2, 3]);
  });
});

describe.each(PLATFORMS.flatMap((platform) => Object.keys(STORES).map((store) => ({ platform, store }))))(
  'a leaky bucket of the middleware over $platform with $store',
  ({ platform, store }) => {
    it('lets a lower class of the route wait for its own slot, and not for the end of the queue', async () => {
      @Controller()
      class Queued {
        @Get('estimate')
        @RateLimit({ policy: 'queue', priority: 'estimates' })
        estimate(@RateLimitDecision() { delayMs }: Decision): number {
          return delayMs;
        }
      }
      const queue: Policy = {
        algorithm: 'leaky-bucket',
        capacity: 20,
        drain: 20,
        by: 'global',
        scope: 'app',
        priorities: { rides: 1, estimates: 0.5 },
      };
      await using app = await limited(platform, Queued, {
        ...STORES[store]!(),
        policies: { queue },
        middleware: ['queue'],
      });
      await app.send('/estimate');
      const since = performance.now();
      const ends = await Promise.all(
        Array.from({ length: 8 }, async () => {
          expect((await app.send('/estimate')).status).toBe(200);
          return performance.now() - since;
        }),
      );
      // The slots are 50 ms apart. Those that wait for the end of the queue go together, after 400 ms.
      const [, second, , , , , , last] = ends.toSorted((one, other) => one - other);
      expect(last! - second!).toBeGreaterThan(150);
    });
  },
);
