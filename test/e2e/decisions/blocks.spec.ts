import { Controller, Get } from '@nestjs/common';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Decision,
  MemoryStore,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RedisStore,
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

const STEPS = ['1m', '10m', '1h'] as const;

@Controller()
class Login {
  @Get('login')
  @RateLimit(GUESSES, { name: 'all', algorithm: 'fixed-window', limit: 1_000, window: '1m' })
  login(): void {}

  @Get('again')
  @RateLimit({ ...GUESSES, name: 'again', blockFor: STEPS })
  again(): void {}
}

const ADA = { kind: 'user', value: 'ada' };
const START = 28_000_000 * MINUTE;

let server: RedisServer;
let client: Redis;

beforeAll(async () => {
  server = await RedisServer.start();
  client = new Redis(server.url);
});

afterAll(async () => {
  await client.quit();
  await server.stop();
});

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

describe.each(PLATFORMS)('over %s, a policy whose blockFor is a list', (platform) => {
  it.each(['memory', 'Redis'])('climbs all steps, repeats the last one and forgets it, in %s', async (where) => {
    let now = START;
    const clock = () => now;
    const store = where === 'Redis' ? new RedisStore(client, { clock }) : new MemoryStore({ clock });
    await client.flushdb();
    await using app = await limited(platform, Login, { store });
    const limiter = app.app.get(RateLimiter);
    const ask = async (): Promise<readonly [number, string | undefined]> => {
      const { status, headers } = await app.send('/again');
      return [status, headers['retry-after']];
    };
    /** Uses up the limit of a new window, and is rejected three times. The last rejection says how long the block lasts. */
    const offend = async (): Promise<number> => {
      const answers = [];
      for (let i = 0; i < 5; i++) answers.push(await ask());
      expect(answers.map(([status]) => status)).toEqual([200, 200, 429, 429, 429]);
      expect(answers.slice(2, 4).map(([, retryAfter]) => retryAfter)).toEqual(['60', '60']);
      return Number(answers[4]![1]);
    };
    const explained = async (): Promise<unknown> =>
      (await limiter.explain('GET /again', { kind: 'ip', value: '127.0.0.1' })).policies[0]!.block;
    for (const [seconds, step] of [
      [60, 1],
      [600, 2],
      [3_600, 3],
      [3_600, 3],
    ] as const) {
      expect(await offend()).toBe(seconds);
      const began = now / 1000;
      expect(await explained()).toEqual({
        since: new Date(began).toISOString(),
        until: new Date(began + seconds * 1000).toISOString(),
        step,
      });
      now += seconds * 1_000_000 - 1;
      expect(await ask()).toEqual([429, '1']);
      now += 1;
      expect(await explained()).toBeNull();
    }
    // The longest duration after the last block ended, the client begins anew.
    now += 60 * MINUTE - 1;
    now -= now % MINUTE; // the window of three rejections within the memory
    expect(await offend()).toBe(3_600);
    now += 120 * MINUTE;
    expect(await offend()).toBe(60);
    // A reset forgets the step as well.
    now += MINUTE;
    await limiter.reset('GET /again', { kind: 'ip', value: '127.0.0.1' });
    expect(await offend()).toBe(60);
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

  it('says which duration of a list the block lasts, also from the denial cache', async () => {
    await using app = await boot();
    const limiter = app.app.get(RateLimiter);
    const steps = {
      name: 'steps',
      algorithm: 'fixed-window',
      limit: 1,
      window: '300d',
      blockFor: ['1m', '1h'],
    } as const;
    await limiter.consume(steps, ADA);
    for (let i = 0; i < 3; i++) {
      const [decision] = (await limiter.consume(steps, ADA)).policies;
      expect(decision).toMatchObject({ allowed: false, blockStep: 1 });
      expect(decision!.blockedForMs).toBeGreaterThan(50_000);
    }
    // A list of one is the same as a single duration.
    const single = { ...steps, name: 'single', blockFor: ['1m'] } as const;
    for (let i = 0; i < 2; i++) await limiter.consume(single, ADA);
    const [decision] = (await limiter.consume({ ...single, blockFor: '1m' }, ADA)).policies;
    expect(decision!.blockedForMs).toBeGreaterThan(50_000);
    expect(decision).not.toHaveProperty('blockStep');
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

describe('a deploy that makes a list of blockFor', () => {
  it('begins afresh beside the old block, whose state it does not read, and finds it again when it is undone', async () => {
    await client.flushdb();
    const policy = { algorithm: 'fixed-window', limit: 1, window: '300d', blockFor: '10m' } as const;
    const boot = (change: Partial<Policy> = {}): Promise<HttpApp> =>
      start('Express', {
        imports: [
          RateLimitModule.forRoot({ redis: server.url, policies: { door: { ...policy, ...change } as Policy } }),
        ],
      });
    const ask = async (change: Partial<Policy> | undefined, mode: 'consume' | 'peek'): Promise<unknown> => {
      await using app = await boot(change);
      const limiter = app.app.get(RateLimiter);
      const { policies } = await limiter[mode]('door', ADA);
      return [policies[0]!.allowed, policies[0]!.blockedForMs !== undefined, policies[0]!.blockStep];
    };
    expect(await ask({}, 'consume')).toEqual([true, false, undefined]);
    expect(await ask({}, 'consume')).toEqual([false, true, undefined]);
    const lists = [
      ['10m', '1h'],
      ['10m', '2h'],
    ];
    for (const blockFor of lists) {
      expect(await ask({ blockFor }, 'peek')).toEqual([false, false, undefined]);
      expect(await ask({ blockFor }, 'consume')).toEqual([false, true, 1]);
    }
    // A list of one is the single duration.
    for (const blockFor of ['10m', ['10m'], 600_000, [600_000]])
      expect(await ask({ blockFor }, 'peek')).toEqual([false, true, undefined]);
    const blocks = (await client.keys('*:b[le]:*')).toSorted();
    expect(blocks).toHaveLength(3);
    expect(blocks.at(-1)).toMatch(/:door:bl:1@600000000$/);
    for (const key of blocks) expect(key).toMatch(/:bl:1@600000000$|:be:1@[\w-]{13}$/);
    expect(await client.get(blocks.at(-1)!)).toMatch(/^\d{16}1$/);
  });
});

describe('a policy whose blockFor is a list', () => {
  it.each([[['1m', '1h']], ['1m']])('stops the boot beside one of its name with other durations: %j', async (other) => {
    @Controller()
    class Twice {
      @Get('one')
      @RateLimit({ ...GUESSES, scope: 'app', blockFor: ['1m', '10m'] })
      one(): void {}

      @Get('two')
      @RateLimit({ ...GUESSES, scope: 'app', blockFor: other })
      two(): void {}
    }
    const booting = limited('Express', Twice, { store: new MemoryStore() });
    await expect(booting).rejects.toThrow('blockFor 60000, 600000 ms, blockAfter 3');
  });

  it('in shadow climbs the steps, and rejects nobody', async () => {
    let now = START;
    const store = new MemoryStore({ clock: () => now });
    const tried = { algorithm: 'fixed-window', limit: 1, window: '300d', mode: 'shadow', blockFor: STEPS } as const;
    await using app = await start('Express', { imports: [RateLimitModule.forRoot({ store, policies: { tried } })] });
    const limiter = app.app.get(RateLimiter);
    const ask = async (): Promise<unknown> => {
      const { allowed, shadow } = await limiter.consume('tried', ADA);
      return [allowed, shadow![0]!.blockedForMs, shadow![0]!.blockStep];
    };
    expect(await ask()).toEqual([true, undefined, undefined]);
    for (const [minutes, step] of [
      [1, 1],
      [10, 2],
      [60, 3],
    ]) {
      expect(await ask()).toEqual([true, minutes! * 60_000, step]);
      expect((await limiter.explain('tried', ADA)).policies).toMatchObject([
        { outcome: 'would-reject', block: { since: new Date(now / 1000).toISOString(), step } },
      ]);
      now += minutes! * MINUTE;
    }
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
    [
      { blockFor: 0 },
      `blockFor must be milliseconds or a duration such as '10m', from 1 ms to 100 years, or a list of 1 to 16 of them, each longer than the one before and none longer than 50 years, such as ['1m', '10m', '1h'], got 0`,
    ],
    [{ blockFor: [] }, `such as ['1m', '10m', '1h'], got an empty list`],
    [{ blockFor: Array.from({ length: 17 }, (_, i) => i + 1) }, 'got a list of 17'],
    [{ blockFor: ['1m', 0] }, 'got 0 at [1]'],
    [{ blockFor: ['1m', 'soon', '1h'] }, `got 'soon' at [1]`],
    [{ blockFor: ['1m', ['10m']] }, 'got an array at [1]'],
    [{ blockFor: ['1m', undefined] }, 'got undefined at [1]'],
    [{ blockFor: ['1m', '1h', '60m'] }, `got '60m' after '1h' at [2]`],
    [{ blockFor: ['10m', '1m'] }, `got '1m' after '10m' at [1]`],
    [{ blockFor: ['1m', '200y'] }, `got '200y' at [1]`],
    [{ blockFor: ['1m', '10m'], by: 'global', shards: 5 }, 'blockFor does not go with shards'],
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
