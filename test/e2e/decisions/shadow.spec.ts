import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  MemoryStore,
  type Decision,
  type DecisionEvent,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitStore,
} from 'nestjs-floodgate';
import {
  FROM_HEADERS,
  type HttpApp,
  limited,
  PLATFORMS,
  type Platform,
  type Reply,
  start,
} from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';

const HALF = { name: 'half', algorithm: 'fixed-window', limit: 4, window: '300d' } as const;
const TIGHT: Policy = { name: 'tight', algorithm: 'fixed-window', limit: 2, window: '300d', mode: 'shadow' };
const QUEUE: Policy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 100, drain: '1/h', mode: 'shadow' };
const MISSING: Policy = { ...TIGHT, name: 'missing', by: 'user', onMissingIdentity: 'refuse' };
const BROKEN: Policy = { ...TIGHT, name: 'broken', cost: () => Number.NaN };

/** Makes a controller of these routes, with or without shadows. */
function routes(...shadows: Policy[]) {
  @Controller()
  class Routes {
    @Get('limited')
    @RateLimit(HALF, ...shadows)
    limited(): string {
      return 'passed';
    }

    @Get('first')
    @RateLimit(...([...shadows, HALF] as unknown as [Policy]))
    first(): string {
      return 'passed';
    }
  }
  return Routes;
}

@Controller()
class Unlimited {
  @Get('alone')
  alone(): string {
    return 'passed';
  }
}

@Controller()
class OnlyShadows {
  @Get('alone')
  @RateLimit(TIGHT)
  alone(): string {
    return 'passed';
  }
}

@Controller()
class WithCandidate {
  @Get('tried')
  @RateLimit({ ...HALF, candidate: { limit: 1 } })
  tried(): string {
    return 'passed';
  }
}

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(() => server.stop());

// X-RateLimit-Reset counts seconds since 1970.
beforeEach(() => void jest.spyOn(Date, 'now').mockReturnValue(1_700_000_000_000));
afterEach(() => void jest.restoreAllMocks());

const AWAY: RateLimitStore = {
  supports: ['shadow'],
  consume: () => Promise.reject(new Error('away')),
  reset: () => undefined,
};
const CLOCK = { now: 1_700_000_000_000_000 };

/** What a client can tell: without the time of day, on a clock that stands still. */
function bytes({ status, headers, text }: Reply): unknown {
  const { date: _, ...rest } = headers;
  return [status, rest, text];
}

async function replies(platform: Platform, controller: object, options: RateLimitModuleOptions, paths: string[]) {
  const store = new MemoryStore({ clock: () => CLOCK.now });
  await using app = await limited(platform, controller as never, { store, ...options });
  const all: unknown[] = [];
  for (const path of paths) all.push(bytes(await app.send(path)));
  return all;
}

const FORMATS: RateLimitModuleOptions[] = [
  ...(['x-ratelimit', 'draft', 'both', 'throttler', false] as const).map((headers) => ({ headers })),
  { headers: 'draft', problem: true, partitionKeySecret: 'sixteen characters' },
];

describe.each(PLATFORMS)('over %s, a policy in shadow', (platform) => {
  it.each(FORMATS)('changes no byte of a response: %j', async (options) => {
    const paths = Array.from({ length: 6 }, () => ['/limited', '/first']).flat();
    const without = await replies(platform, routes(), options, paths);
    const shadows = [TIGHT, QUEUE, MISSING, BROKEN];
    expect(await replies(platform, routes(...shadows), options, paths)).toEqual(without);
    expect(without.filter((reply) => (reply as unknown[])[0] === 429)).toHaveLength(4);
  });

  it('that stands alone changes no byte either', async () => {
    const paths = Array<string>(4).fill('/alone');
    const without = await replies(platform, Unlimited, {}, paths);
    expect(await replies(platform, OnlyShadows, {}, paths)).toEqual(without);
    const middleware = { policies: { tight: { ...TIGHT, scope: 'app' as const } }, middleware: ['tight'] };
    expect(await replies(platform, OnlyShadows, middleware, paths)).toEqual(without);
  });

  it.each(['local', 'open', 'closed'] as const)(
    'changes no byte while the store is away: %s',
    async (onStoreFailure) => {
      const options = { store: AWAY, onStoreFailure, deadline: '20ms', problem: true };
      const paths = Array<string>(6).fill('/limited');
      // The fallback has a clock of its own.
      const known = (all: unknown[]): unknown =>
        all.map((one) => {
          const [status, { etag: _, 'content-length': __, ...headers }, text] = one as [
            number,
            Reply['headers'],
            string,
          ];
          return [status, JSON.stringify([headers, text]).replaceAll(/\d{5,}(\.\d+)?/g, '#')];
        });
      const without = known(await replies(platform, routes(), options, paths));
      expect(known(await replies(platform, routes(TIGHT, QUEUE), options, paths))).toEqual(without);
      expect(known(await replies(platform, Unlimited, options, ['/alone']))).toEqual(
        known(await replies(platform, OnlyShadows, options, ['/alone'])),
      );
      const last = { local: 429, open: 200, closed: 503 }[onStoreFailure];
      expect((without as [number, string][]).at(-1)![0]).toBe(last);
    },
  );

  it.each(['memory', 'Redis'])('rejects in %s what its enforcing twin rejects, and counts it', async (where) => {
    const events: DecisionEvent[] = [];
    const options: RateLimitModuleOptions = {
      ...(where === 'Redis' && { redis: server.url, keyPrefix: `shadow-${platform}` }),
      identity: FROM_HEADERS,
      onDecision: (event) => events.push(event),
    };
    await using app = await limited(platform, [routes(TIGHT, QUEUE), WithCandidate], options);
    for (let i = 0; i < 6; i++) await app.as('ada', '/limited');
    await app.crowd(6, '/tried', { headers: { 'X-User-Id': 'ada' } });
    const limiter = app.app.get(RateLimiter);
    const { policies, shadows, rejected, requests } = limiter.stats();
    expect({ rejected, requests }).toEqual({ rejected: 4, requests: 12 });
    expect(policies.map(({ policy }) => policy)).toEqual(['half']);
    const numbers = { algorithm: 'fixed-window', requests: 6 };
    expect(shadows).toEqual([
      { ...numbers, policy: 'tight', allowed: 2, rejected: 4 },
      { policy: 'queue', algorithm: 'leaky-bucket', requests: 6, allowed: 4, rejected: 0 },
      { ...numbers, policy: 'half.candidate', allowed: 1, rejected: 5 },
    ]);
    const said = events.slice(0, 6).map(({ decision }) => decision);
    expect(said.map(({ shadow }) => shadow!.map((one) => one.allowed))).toEqual([
      [true, true],
      [true, true],
      [false, true],
      [false, true],
      [false, true],
      [false, true],
    ]);
    expect(said.map((decision) => decision.policies.map(({ policy }) => policy))).toEqual(said.map(() => ['half']));
    expect(said.map(({ delayMs }) => delayMs)).toEqual(Array(6).fill(0));
  });
});

describe('a policy in shadow', () => {
  const policies: Record<string, Policy> = {
    burst: { algorithm: 'token-bucket', capacity: 3, refill: '1/h', candidate: { capacity: 1 } },
    tight: { algorithm: 'token-bucket', capacity: 1, refill: '1/h', mode: 'shadow' },
  };
  const ADA = { kind: 'user', value: 'ada' };

  async function limiter(options: RateLimitModuleOptions): Promise<HttpApp> {
    return start('Express', { imports: [RateLimitModule.forRoot({ policies, ...options })] });
  }

  const brief = ({ allowed, decidedBy, policies: said, shadow }: Decision): unknown => ({
    allowed,
    decidedBy,
    policies: said.map((one) => `${one.policy} ${one.allowed}`),
    shadow: shadow?.map((one) => `${one.policy} ${one.allowed} ${one.remaining}`),
  });

  it('is in the decision of RateLimiter.consume, beside the policies that decide', async () => {
    await using app = await limiter({});
    const { consume, peek } = bound(app);
    expect(brief(await consume('burst'))).toEqual({
      allowed: true,
      decidedBy: 'store',
      policies: ['burst true'],
      shadow: ['burst.candidate true 0'],
    });
    expect(brief(await consume(['burst', 'tight']))).toMatchObject({
      shadow: ['burst.candidate false 0', 'tight true 0'],
    });
    expect(brief(await consume('tight'))).toMatchObject({ allowed: true, policies: [], shadow: ['tight false 0'] });
    expect(brief(await peek('tight'))).toMatchObject({ allowed: true, policies: [], shadow: ['tight false 0'] });
    await app.app.get(RateLimiter).reset(['burst', 'tight'], ADA);
    expect(brief(await peek(['burst', 'tight']))).toMatchObject({
      shadow: ['burst.candidate true 1', 'tight true 1'],
    });
  });

  it('is decided by this process without the store, and never answers 503', async () => {
    await using app = await limiter({ store: AWAY, onStoreFailure: 'closed', deadline: 20 });
    const { consume } = bound(app);
    expect(brief(await consume('tight'))).toEqual({
      allowed: true,
      decidedBy: 'open',
      policies: [],
      shadow: undefined,
    });
    await expect(consume('burst')).rejects.toThrow('could not be checked');
    await using local = await limiter({ store: AWAY, deadline: 20 });
    const here = bound(local).consume;
    expect(brief(await here('tight'))).toMatchObject({ decidedBy: 'open', shadow: ['tight true 0'] });
    expect(brief(await here(['burst', 'tight']))).toMatchObject({
      decidedBy: 'local',
      policies: ['burst true'],
      shadow: ['burst.candidate true 0', 'tight false 0'],
    });
  });

  it('warns at boot of options that have no effect', async () => {
    const tight = { ...policies.tight!, onStoreFailure: 'closed', onMissingIdentity: 'refuse' } as Policy;
    await using app = await limiter({ policies: { tight } });
    expect(app.logs.of('warn').filter((line) => line.includes('shadow'))).toEqual([
      `'tight': onStoreFailure: 'closed' has no effect with mode: 'shadow', which rejects nobody: it counts nothing while the store is away RateLimit`,
      `'tight': onMissingIdentity: 'refuse' has no effect with mode: 'shadow', which rejects nobody: it counts no request without an identity RateLimit`,
    ]);
  });

  it.each([
    [{ mode: 'dry' }, `mode must be one of 'enforce', 'shadow', got 'dry'`],
    [{ candidate: 10 }, `candidate must be an object with another capacity or refill, got 10`],
    [{ candidate: {} }, `candidate must change capacity, refill or plans, got none of them`],
    [{ candidate: { capacity: 0 } }, `capacity must be a whole number from 1 to 1000000000000, got 0`],
    [{ candidate: { limit: 5 } }, `'limit' is not an option of a candidate (got 5).`],
    [{ cost: 2, candidate: { capacity: 1 } }, 'cost must be a whole number from 0 to 1'],
  ])('stops the boot for %j', async (wrong, message) => {
    const burst = { ...policies.burst, ...wrong } as unknown as Policy;
    await expect(limiter({ policies: { burst } })).rejects.toThrow(message);
  });

  it('stops the boot where a store of the application would enforce it', async () => {
    const { supports: _, ...store } = AWAY;
    await expect(limiter({ store })).rejects.toThrow(`the store does not know mode: 'shadow'`);
  });

  function bound(app: HttpApp) {
    const engine = app.app.get(RateLimiter);
    return {
      consume: (names: string | string[]) => engine.consume(names, ADA),
      peek: (names: string | string[]) => engine.peek(names, ADA),
    };
  }
});

it.each(PLATFORMS)(
  'over %s, a shadow that a request does not fit in the middleware is not asked again',
  async (platform) => {
    const shared: Policy = { ...TIGHT, name: 'shared', scope: 'app' };
    @Controller()
    class Dearer {
      @Get('dearer')
      @RateLimit(() => ({ ...shared, cost: 2 }))
      get(): void {}
    }
    await using app = await limited(platform, Dearer, { policies: { shared }, middleware: ['shared'] });
    for (let i = 0; i < 3; i++) expect((await app.as('ada', '/dearer')).status).toBe(200);
    expect(app.app.get(RateLimiter).stats().shadows).toMatchObject([{ policy: 'shared', rejected: 2 }]);
  },
);
