import { Controller, Get, Query, UnauthorizedException } from '@nestjs/common';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  MemoryStore,
  type Outcome,
  type Policy,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited, type Platform, PLATFORMS } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';

jest.setTimeout(30_000); // leases renew in real time

const ADA = { kind: 'user', value: 'ada' } as const;
const HOURS = { algorithm: 'fixed-window', window: '300d', by: 'user', scope: 'app' } as const;

const LOGIN: Policy = { ...HOURS, name: 'login', limit: 2, mode: 'shadow', countIf: ({ status }) => status === 401 };
const TOKENS: Policy = {
  ...HOURS,
  name: 'tokens',
  limit: 10_000,
  cost: 2_000,
  settle: ({ value }: Outcome) => Number(value),
  candidate: { limit: 3_000 },
};
const AT_ONCE: Policy = {
  name: 'at-once',
  algorithm: 'concurrency',
  limit: 2,
  lease: '1s',
  by: 'user',
  scope: 'app',
  candidate: { limit: 1 },
};
const GUESSES: Policy = {
  ...HOURS,
  name: 'guesses',
  limit: 2,
  countIf: ({ status }) => status === 401,
  blockFor: '1h',
  blockAfter: 2,
};
const STREAM: Policy = { ...AT_ONCE, name: 'stream', limit: 1, blockFor: '1h', candidate: undefined };

let running: (() => void)[] = [];

@Controller()
class Routes {
  @Get('login')
  @RateLimit(LOGIN)
  login(@Query('password') password: string): string {
    if (password !== 'right') throw new UnauthorizedException();
    return 'welcome';
  }

  @Get('summary')
  @RateLimit(TOKENS)
  summary(@Query('tokens') tokens: string): string {
    return tokens;
  }

  @Get('hold')
  @RateLimit(AT_ONCE)
  hold(): Promise<string> {
    return new Promise((resolve) => running.push(() => resolve('done')));
  }

  @Get('stream')
  @RateLimit(STREAM)
  stream(): Promise<string> {
    return this.hold();
  }

  @Get('guess')
  @RateLimit(GUESSES)
  guess(): never {
    throw new UnauthorizedException();
  }
}

const redis = useRedis();
const STORES: Readonly<Record<string, () => RateLimitModuleOptions>> = {
  memory: () => ({ store: new MemoryStore() }),
  Redis: () => ({ redis: redis.server.url }),
};
const KINDS = PLATFORMS.flatMap((platform) => Object.keys(STORES).map((store) => ({ platform, store })));

beforeEach(() => {
  running = [];
});

function open({ platform, store }: { platform: Platform; store: string }): Promise<HttpApp> {
  return limited(platform, Routes, { identity: FROM_HEADERS, policies: { tokens: TOKENS }, ...STORES[store]!() });
}

const shadowOf = (app: HttpApp, name: string) => {
  const { requests, allowed, rejected } = app.app
    .get(RateLimiter)
    .stats()
    .shadows.find(({ policy }) => policy === name)!;
  return [requests, allowed, rejected];
};

/** What is used of each policy of a route. */
async function used(app: HttpApp, route: string): Promise<(number | undefined)[]> {
  const { policies } = await app.app.get(RateLimiter).explain(route, ADA);
  return policies.map(({ level }) => level?.used);
}

describe.each(KINDS)('over $platform with $store, a policy in shadow', (kind) => {
  it('counts only the requests that countIf counts', async () => {
    await using app = await open(kind);
    const login = async (password: string): Promise<number> =>
      (await app.as('ada', `/login?password=${password}`)).status;
    for (let i = 0; i < 5; i++) expect(await login('right')).toBe(200);
    await until('all refunded', 5_000, async () => (await used(app, 'GET /login'))[0] === 0);
    expect(shadowOf(app, 'login')).toEqual([5, 5, 0]);
    for (let i = 0; i < 4; i++) expect(await login('wrong')).toBe(401);
    expect(shadowOf(app, 'login')).toEqual([9, 7, 2]);
    expect(await used(app, 'GET /login')).toEqual([2]);
    // What the shadow would have rejected was not charged, and is not refunded.
    expect(await login('right')).toBe(200);
    expect(shadowOf(app, 'login')).toEqual([10, 7, 3]);
    expect(await used(app, 'GET /login')).toEqual([2]);
  });

  it('is settled with the policy beside it, where it was charged', async () => {
    await using app = await open(kind);
    const ask = (tokens: number) => app.as('ada', `/summary?tokens=${tokens}`);
    expect((await ask(150)).status).toBe(200);
    await until('settled', 5_000, async () => (await used(app, 'GET /summary'))[0] === 150);
    expect(await used(app, 'GET /summary')).toEqual([150, 150]);
    expect((await ask(5_000)).status).toBe(200);
    await until('settled', 5_000, async () => (await used(app, 'GET /summary'))[0] === 5_150);
    // Beyond its limit, as an overdraft of the candidate's own.
    expect((await used(app, 'GET /summary'))[1]).toBe(3_000);
    expect((await ask(10)).status).toBe(200);
    await until('settled', 5_000, async () => (await used(app, 'GET /summary'))[0] === 5_160);
    expect(shadowOf(app, 'tokens.candidate')).toEqual([3, 2, 1]);
  });

  it('is reserved and settled by code in the same step, and a refused reservation leaves nothing in it', async () => {
    await using app = await open(kind);
    const limiter = app.app.get(RateLimiter);
    const reserved = await limiter.reserve('tokens', ADA, { cost: 2_500 });
    expect(await used(app, 'GET /summary')).toEqual([2_500, 2_500]);
    const other = await limiter.reserve('tokens', ADA, { cost: 2_500 });
    expect([other.allowed, await used(app, 'GET /summary')]).toEqual([true, [5_000, 2_500]]);
    const refused = await limiter.reserve('tokens', ADA, { cost: 6_000 });
    expect([refused.allowed, await used(app, 'GET /summary')]).toEqual([false, [5_000, 2_500]]);
    await expect(refused.settle(0)).rejects.toThrow('the reservation was rejected, so nothing was charged');
    await reserved.settle(100);
    expect(await used(app, 'GET /summary')).toEqual([2_600, 100]);
    await other.cancel();
    expect(await used(app, 'GET /summary')).toEqual([100, 100]);
  });

  it('holds leases and frees them, and holds nobody up', async () => {
    await using app = await open(kind);
    const both = [app.as('ada', '/hold'), app.as('ada', '/hold')];
    await until('both run', 5_000, () => running.length === 2);
    expect(shadowOf(app, 'at-once.candidate')).toEqual([2, 1, 1]);
    expect(await used(app, 'GET /hold')).toEqual([2, 1]);
    // Longer than a lease: both are renewed, and neither renewal is a request.
    await new Promise((resolve) => setTimeout(resolve, 1_600));
    expect(await used(app, 'GET /hold')).toEqual([2, 1]);
    expect(shadowOf(app, 'at-once.candidate')).toEqual([2, 1, 1]);
    running.shift()!();
    await Promise.race(both);
    running.shift()!();
    expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
    await until('all free', 5_000, async () => (await used(app, 'GET /hold')).join() === '0,0');
    expect(app.logs.of('warn').filter((line) => line.includes('FG_LEASE_ENDED'))).toEqual([]);
  });
});

describe.each(KINDS)('over $platform with $store, a policy with blockFor', (kind) => {
  it('counts rejections of requests that are settled later', async () => {
    await using app = await open(kind);
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await app.as('ada', '/guess')).status);
    expect(statuses).toEqual([401, 401, 429, 429]);
    expect((await app.app.get(RateLimiter).explain('GET /guess', ADA)).policies).toMatchObject([
      { outcome: 'blocked', rejectedSince: expect.stringContaining('T') },
    ]);
  });

  it('renews the leases of a blocked client', async () => {
    await using app = await open(kind);
    const first = app.as('ada', '/stream');
    await until('it runs', 5_000, () => running.length === 1);
    expect((await app.as('ada', '/stream')).status).toBe(429);
    await new Promise((resolve) => setTimeout(resolve, 1_600));
    running[0]!();
    expect((await first).status).toBe(200);
    expect(app.logs.of('warn').filter((line) => line.includes('A lease'))).toEqual([]);
    expect((await app.as('ada', '/stream')).status).toBe(429);
  });
});
