import { Controller, Get } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Decision,
  MemoryStore,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { type HttpApp, limited, PLATFORMS, type Reply, start } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';

const MINUTE = 60_000_000;
const GUESSES = {
  name: 'guesses',
  algorithm: 'fixed-window',
  limit: 2,
  window: '1m',
  blockFor: '10m',
  blockAfter: 3,
} as const;

@Controller()
class Login {
  @Get('login')
  @RateLimit(GUESSES, { name: 'all', algorithm: 'fixed-window', limit: 1_000, window: '1m' })
  login(): void {}
}

const ADA = { kind: 'user', value: 'ada' };
const START = 28_000_000 * MINUTE;

let server: RedisServer;

beforeAll(async () => {
  server = await RedisServer.start();
});

afterAll(() => server.stop());

const remaining = ({ headers }: Reply, policy: string): string | undefined =>
  new RegExp(`"${policy}";r=(\\d+)`).exec(String(headers.ratelimit))?.[1];

describe.each(PLATFORMS)('over %s, a policy with blockFor', (platform) => {
  it('rejects for the rest of the block, says so, and charges nothing meanwhile', async () => {
    let now = START;
    const store = new MemoryStore({ clock: () => now });
    await using app = await limited(platform, Login, { store, headers: 'draft', problem: true });
    const asked = async (count: number): Promise<Reply[]> => {
      const replies: Reply[] = [];
      for (let i = 0; i < count; i++) replies.push(await app.send('/login'));
      return replies;
    };
    const first = await asked(4);
    expect(first.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
      [200, undefined],
      [200, undefined],
      [429, '60'],
      [429, '60'],
    ]);
    now += MINUTE / 2;
    const [third, fourth] = await asked(2);
    expect([third, fourth].map((reply) => reply!.headers['retry-after'])).toEqual(['600', '600']);
    now += 5 * MINUTE;
    const [later] = await asked(1);
    expect(later).toMatchObject({ status: 429, headers: { 'retry-after': '300' } });
    expect(later!.body).toMatchObject({ 'violated-policies': ['guesses'], 'retry-after-ms': 300_000 });
    expect([remaining(later!, 'guesses'), remaining(later!, 'all')]).toEqual(['0', '1000']);
    now += 5 * MINUTE - 1;
    expect((await asked(1))[0]!.status).toBe(429);
    now += 1;
    expect((await asked(1))[0]!.status).toBe(200);
  });
});

describe.each(['memory', 'Redis'])('in %s, a policy with blockFor', (where) => {
  const policies: Record<string, Policy> = {
    guesses: { algorithm: 'token-bucket', capacity: 5, refill: '1/d', blockFor: '1h', blockAfter: 4 },
    other: { algorithm: 'fixed-window', limit: 1, window: '300d' },
  };

  function boot(options: RateLimitModuleOptions = {}): Promise<HttpApp> {
    const store = where === 'Redis' ? { redis: server.url, keyPrefix: `b${++booted}` } : {};
    return start('Express', { imports: [RateLimitModule.forRoot({ policies, ...store, ...options })] });
  }
  let booted = 0;

  const blocked = ({ policies: said }: Decision): (true | undefined)[] =>
    said.map(({ blockedForMs }) => (blockedForMs === undefined ? undefined : true));

  it('counts each rejection, however fast they come, and does not count peeks and those of other policies', async () => {
    await using app = await boot();
    const limiter = app.app.get(RateLimiter);
    await limiter.consume(['guesses', 'other'], ADA);
    for (let i = 0; i < 6; i++) expect((await limiter.consume(['guesses', 'other'], ADA)).allowed).toBe(false);
    for (let i = 0; i < 4; i++) expect((await limiter.consume('guesses', ADA)).allowed).toBe(true);
    for (let i = 0; i < 6; i++) expect(blocked(await limiter.peek('guesses', ADA))).toEqual([undefined]);
    for (let i = 0; i < 3; i++) expect(blocked(await limiter.consume('guesses', ADA))).toEqual([undefined]);
    const fourth = await limiter.consume('guesses', ADA);
    expect(blocked(fourth)).toEqual([true]);
    // The bucket's own wait is longer.
    expect(fourth.retryAfterMs).toBeGreaterThan(3_600_000);
    expect(fourth.policies[0]).toMatchObject({ remaining: 0, allowed: false });
    expect(blocked(await limiter.peek('guesses', ADA))).toEqual([true]);
    await limiter.reset('guesses', ADA);
    expect(await limiter.peek('guesses', ADA)).toMatchObject({ allowed: true });
  });

  it('says of leases how long the block lasts, though one can be released at any time', async () => {
    await using app = await boot();
    const limiter = app.app.get(RateLimiter);
    const exports = {
      name: 'exports',
      algorithm: 'concurrency',
      limit: 1,
      lease: '30s',
      blockFor: '10m',
      blockAfter: 2,
    } as const;
    const leases = [];
    for (let i = 0; i < 3; i++) leases.push(await limiter.acquire(exports, ADA));
    const [held, first, second] = leases.map(({ decision }) => decision);
    expect([held!.allowed, first!.retryAfterMs, first!.policies[0]!.blockedForMs]).toEqual([true, 1000, undefined]);
    expect(second!.retryAfterMs).toBe(600_000);
    expect(second!.policies[0]).toMatchObject({ retryAfterMs: 600_000, blockedForMs: 600_000 });
    leases[0]!.release();
    const { decision } = await limiter.acquire(exports, ADA);
    expect(decision.allowed).toBe(false);
    expect(decision.retryAfterMs).toBeGreaterThan(590_000);
  });

  it('begins one block for rejections of one turn', async () => {
    await using app = await boot();
    const limiter = app.app.get(RateLimiter);
    const decisions = await Promise.all(Array.from({ length: 40 }, () => limiter.consume('guesses', ADA)));
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(5);
    expect(decisions.filter((decision) => blocked(decision)[0])).toHaveLength(32);
  });
});

describe.each<[string, () => RateLimitModuleOptions]>([
  ['memory', () => ({ store: new MemoryStore() })],
  ['Redis', () => ({ redis: server.url, keyPrefix: `t${Math.random()}` })],
])('in %s, a rejection of what a route costs beyond the middleware', (_store, options) => {
  it('counts once', async () => {
    const gate: Policy = {
      algorithm: 'token-bucket',
      capacity: 30,
      refill: '1/h',
      scope: 'app',
      cost: (_, context) => (context.getHandler().name === 'dear' ? 20 : 1),
      blockFor: '10m',
      blockAfter: 2,
    };
    @Controller()
    class Gated {
      @Get('dear')
      @RateLimit('gate')
      dear(): void {}

      @Get('cheap')
      @RateLimit('gate')
      cheap(): void {}
    }
    await using app = await limited('Express', Gated, { ...options(), policies: { gate }, middleware: ['gate'] });
    const statuses: number[] = [];
    for (const path of ['dear', 'dear', 'cheap', 'dear', 'cheap']) statuses.push((await app.send(`/${path}`)).status);
    // The second rejection, of the last but one, begins the block.
    expect(statuses).toEqual([200, 429, 200, 429, 429]);
  });
});

describe('blockFor', () => {
  it.each([
    [{ blockFor: 0 }, `blockFor must be milliseconds or a duration such as '10m', from 1 ms to 100 years, got 0`],
    [{ blockFor: '10' }, `blockFor must be milliseconds or a duration`],
    [{ blockFor: '1m', blockAfter: 0 }, 'blockAfter must be a whole number from 1 to 1000000, got 0'],
    [{ blockAfter: 3 }, 'blockAfter has no effect without blockFor, got 3'],
    [{ blockFor: '1m', by: 'global', shards: 5 }, 'blockFor does not go with shards'],
  ])('stops the boot for %j', async (wrong, message) => {
    const guesses = { algorithm: 'token-bucket', capacity: 5, refill: 1, ...wrong } as Policy;
    const booting = start('Express', { imports: [RateLimitModule.forRoot({ policies: { guesses } })] });
    await expect(booting).rejects.toThrow(message);
  });
});
