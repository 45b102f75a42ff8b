import { Controller, type ExecutionContext, Get, Req, Res, type Type } from '@nestjs/common';
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
import { type HttpApp, limited } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';

const redis = useRedis();
const STORES: [string, () => RateLimitModuleOptions][] = [
  ['in memory', () => ({})],
  ['in Redis', () => ({ redis: redis.server.url, deadline: '10s' })],
];

const WINDOW = { algorithm: 'fixed-window', window: '300d', by: 'global' } as const;
const CREDITS: Policy = { ...WINDOW, limit: 6 };
const CLASSES = {
  priorities: { rides: 1, estimates: 0.5 },
  // Before the route is known, the handler is a placeholder.
  priority: (_: unknown, context: ExecutionContext) =>
    context.getHandler().name === 'estimate' ? 'estimates' : 'rides',
  else: 'credits',
  scope: 'app',
} as const;
const API = { ...WINDOW, ...CLASSES, limit: 4 } as const satisfies Policy;

@Controller()
class Charged {
  @Get('estimate')
  @RateLimit(() => 'api')
  estimate(@RateLimitDecision() decision: Decision): unknown {
    return chargedBy(decision);
  }

  @Get('ride')
  @RateLimit(() => 'api')
  ride(@RateLimitDecision() decision: Decision): unknown {
    return chargedBy(decision);
  }
}

/**
 * The policy of the middleware gives a request its first class, and the route another one: boot refuses it, but where a function chooses
 * the route's policy.
 */
const served = (api: Policy, routes: Type = Charged, more: RateLimitModuleOptions = {}): Promise<HttpApp> =>
  limited('Express', routes, { policies: { api, credits: CREDITS }, middleware: ['api'], ...more });

async function passing(app: HttpApp, path: string, times: number): Promise<number> {
  let passed = 0;
  for (let i = 0; i < times; i++) passed += Number((await app.send(path)).status === 200);
  return passed;
}

/** What is left of both policies; undefined where an override exempts the client. */
async function left(app: HttpApp): Promise<readonly (number | undefined)[]> {
  const limiter = app.app.get(RateLimiter);
  const levels = ['api', 'credits'].map(async (policy) => (await limiter.explain(policy, null)).policies[0]!);
  return (await Promise.all(levels)).map(({ level }) => level?.remaining);
}

describe.each(STORES)('a policy of the middleware, %s,', (_, store) => {
  it('leaves the lower class of the route in force, and charges the request once', async () => {
    const { else: __, ...api } = { ...API, limit: 10 };
    await using app = await served(api, Charged, store());
    expect(await passing(app, '/estimate', 25)).toBe(5);
    // The rejected estimates have cost the reserve of the rides nothing.
    expect(await passing(app, '/ride', 6)).toBe(5);
  });

  it.each<[string, Policy]>([
    ['a window', API],
    ['a bucket', { ...CLASSES, algorithm: 'token-bucket', capacity: 4, refill: '1/300d', by: 'global' }],
    ['a window with countIf', { ...API, countIf: ({ status }) => status === 200 }],
  ])('gives back what it was charged for a request that the credits pay: %s', async (__, api) => {
    await using app = await served(api, Charged, store());
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
  });
});

describe('a policy of the middleware whose estimates run over', () => {
  it('gets its charge back where an override exempts the client from the credits', async () => {
    await using app = await served(API);
    await app.app.get(RateLimitOverrides).set({ policy: 'credits' }, { exempt: true });
    expect(await passing(app, '/estimate', 6)).toBe(6);
    expect((await left(app))[0]).toBe(2);
  });

  it('releases the place of a concurrency before the handler runs', async () => {
    const during: unknown[] = [];
    @Controller()
    class Jobs {
      constructor(private readonly limiter: RateLimiter) {}

      @Get('estimate')
      @RateLimit(() => 'api')
      async estimate(@RateLimitDecision() decision: Decision): Promise<void> {
        const other = await this.limiter.acquire('api', null, { priority: 'rides' });
        during.push([decision, other.decision].map((one) => chargedBy(one).map(({ policy }) => policy)));
        other.release();
      }
    }
    const leased = { algorithm: 'concurrency', lease: '30s', by: 'global', scope: 'app' } as const;
    await using app = await served({ ...leased, ...CLASSES, limit: 2 }, Jobs);
    const held = await app.app.get(RateLimiter).acquire('api', null, { priority: 'rides' });
    expect((await app.send('/estimate')).status).toBe(200);
    expect(during).toEqual([[['credits'], ['api']]]);
    expect(await left(app)).toEqual([1, 5]);
    held.release();
  });

  it('gets back the charge of a request that a handler dispatches again', async () => {
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
    await using app = await served(API, Old);
    again = app.app.getHttpAdapter().getInstance() as typeof again;
    expect(await passing(app, '/old', 5)).toBe(5);
    expect(await left(app)).toEqual([2, 3]);
  });
});

const ALL = { ...WINDOW, scope: 'app', limit: 4 } as const;
const RESERVE = { ...ALL, priorities: { rides: 1, estimates: 0.5 } } as const satisfies Policy;

@Controller()
class Routes {
  @Get('estimate')
  @RateLimit({ policy: 'api', priority: 'estimates' })
  estimate(): void {}
}

@Controller()
class Other {
  @Get()
  get(): void {}
}

describe('a policy with priorities', () => {
  it.each<[string, RateLimitModuleOptions]>([
    ['by name', { policies: { api: RESERVE }, middleware: ['api'] }],
    ['with paths to leave out', { policies: { api: RESERVE }, middleware: { policies: ['api'], except: ['/x'] } }],
    [
      'with a function that says the class',
      { policies: { api: { ...RESERVE, priority: () => 'rides' } }, middleware: ['api'] },
    ],
    ['behind an else', { policies: { api: RESERVE, all: { ...ALL, else: 'api' } }, middleware: ['all'] }],
  ])('in the middleware and on a route stops the boot: %s', async (_, options) => {
    await expect(limited('Express', Routes, options)).rejects.toThrow(
      "Routes.estimate: policy 'api' has priorities, and stands in the module's middleware, too.",
    );
  });

  it.each<[string, () => Promise<HttpApp>]>([
    ['in the middleware alone', () => limited('Express', Other, { policies: { api: RESERVE }, middleware: ['api'] })],
    [
      'on routes alone',
      () => limited('Express', Routes, { policies: { api: RESERVE, all: ALL }, middleware: ['all'] }),
    ],
  ])('may stand %s', async (_, open) => {
    await using app = await open();
    expect(app.logs.of('warn')).toEqual([]);
  });
});
