import { Controller, Get, Query, UnauthorizedException } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  MemoryStore,
  type DecisionEvent,
  type Outcome,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  type RateLimitStore,
} from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited, type Platform, type Reply, start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';

const HALF = { name: 'half', algorithm: 'fixed-window', limit: 4, window: '300d' } as const;
const TIGHT: Policy = { name: 'tight', algorithm: 'fixed-window', limit: 2, window: '300d', mode: 'shadow' };
const QUEUE: Policy = { name: 'queue', algorithm: 'leaky-bucket', capacity: 100, drain: '1/h', mode: 'shadow' };
const MISSING: Policy = { ...TIGHT, name: 'missing', by: 'user', onMissingIdentity: 'reject' };
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
class Tried {
  @Get('tried')
  @RateLimit(HALF, { ...HALF, name: 'half.tried', limit: 1, mode: 'shadow' })
  tried(): string {
    return 'passed';
  }
}

const redis = useRedis();

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
  { headers: 'throttler' },
  { headers: 'x-ratelimit+draft-11', problem: true },
];

describe.each(KINDS)('over $platform with $store, a policy in shadow', ({ platform, store }) => {
  it.each(FORMATS)('changes no byte of a response: %j', async (options) => {
    const paths = Array.from({ length: 6 }, () => ['/limited', '/first']).flat();
    const without = await replies(platform, routes(), options, paths);
    const shadows = [TIGHT, QUEUE, MISSING, BROKEN];
    expect(await replies(platform, routes(...shadows), options, paths)).toEqual(without);
    expect(without.filter((reply) => (reply as unknown[])[0] === 429)).toHaveLength(4);
  });

  it.each(['local', 'open', 'closed'] as const)(
    'changes no byte while the store is away: %s',
    async (onStoreFailure) => {
      const options = { store: AWAY, onStoreFailure, deadline: '20ms', problem: true };
      const paths = Array<string>(6).fill('/limited');
      // The fallback has a clock of its own.
      const known = (all: unknown[]): unknown =>
        JSON.parse(JSON.stringify(all).replaceAll(/("(etag|content-length)":"[^,]*,|\d{5,}(\.\d+)?)/g, ''));
      const without = known(await replies(platform, routes(), options, paths));
      expect(known(await replies(platform, routes(TIGHT, QUEUE), options, paths))).toEqual(without);

      const last = { local: 429, open: 200, closed: 503 }[onStoreFailure];
      expect((without as [number, string][]).at(-1)![0]).toBe(last);
    },
  );

  it('rejects what its enforcing twin rejects, and counts it', async () => {
    const events: DecisionEvent[] = [];
    const options: RateLimitModuleOptions = {
      ...storeOf({ platform, store }, redis),
      identity: FROM_HEADERS,
      onDecision: (event) => events.push(event),
    };
    await using app = await limited(platform, [routes(TIGHT, QUEUE), Tried], options);
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
      { ...numbers, policy: 'half.tried', allowed: 1, rejected: 5 },
    ]);
    const said = events.slice(0, 6).map(({ decision }) => decision);
    expect(said.map(({ shadow }) => shadow!.map((one) => one.allowed).join())).toEqual([
      ...Array(2).fill('true,true'),
      ...Array(4).fill('false,true'),
    ]);
    expect(said.map(({ delayMs }) => delayMs)).toEqual(Array(6).fill(0));
  });
});

describe('a policy in shadow', () => {
  const policies: Record<string, Policy> = {
    burst: { algorithm: 'token-bucket', capacity: 3, refill: '1/h' },
    tight: { algorithm: 'token-bucket', capacity: 1, refill: '1/h', mode: 'shadow' },
  };
  const ADA = { kind: 'user', value: 'ada' };

  async function limiter(options: RateLimitModuleOptions): Promise<HttpApp> {
    return start('Express', { imports: [RateLimitModule.forRoot({ policies, ...options })] });
  }

  it('is decided by this process without the store, and never answers 503', async () => {
    await using closed = await limiter({ store: AWAY, onStoreFailure: 'closed', deadline: 20 });
    const decision = await closed.app.get(RateLimiter).consume('tight', ADA);
    expect(decision).toMatchObject({ allowed: true, decidedBy: 'open', policies: [] });
    expect(decision.shadow).toBeUndefined();
    await expect(closed.app.get(RateLimiter).consume('burst', ADA)).rejects.toThrow('could not be checked');
    await using local = await limiter({ store: AWAY, deadline: 20 });
    const { decidedBy, shadow } = await local.app.get(RateLimiter).consume(['burst', 'tight'], ADA);
    expect([decidedBy, shadow!.map(({ policy, allowed }) => `${policy} ${allowed}`)]).toEqual([
      'local',
      ['tight true'],
    ]);
  });

  it('stops the boot where a store of the application would enforce it', async () => {
    const { supports: _, ...store } = AWAY;
    await expect(limiter({ store })).rejects.toThrow(`the store does not know mode: 'shadow'`);
  });
});

it.each(KINDS)('over $platform with $store, a shadow counts only the requests that countIf counts', async (kind) => {
  const countIf = ({ status }: Outcome) => status === 401;
  @Controller()
  class Login {
    @Get('login')
    @RateLimit({ ...TIGHT, countIf })
    login(@Query('password') password: string): void {
      if (password !== 'right') throw new UnauthorizedException();
    }
  }
  await using app = await limited(kind.platform, Login, { ...storeOf(kind, redis), identity: FROM_HEADERS });
  const limiter = app.app.get(RateLimiter);
  const used = async (): Promise<unknown> =>
    (await limiter.explain('GET /login', { kind: 'ip', value: '127.0.0.1' })).policies[0]!.level?.used;
  for (let i = 0; i < 4; i++) expect((await app.send('/login?password=right')).status).toBe(200);
  await until('all are refunded', 5_000, async () => (await used()) === 0);
  for (let i = 0; i < 4; i++) expect((await app.send('/login?password=wrong')).status).toBe(401);
  expect(limiter.stats().shadows).toMatchObject([{ requests: 8, allowed: 6, rejected: 2 }]);
  expect(await used()).toBe(2);
});
