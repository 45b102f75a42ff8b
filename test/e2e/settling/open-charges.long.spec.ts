import { Controller, Get, HttpCode, Post, Query, UnauthorizedException } from '@nestjs/common';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  type Decision,
  MemoryStore,
  type Outcome,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitExceededException,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { rateLimitFetch } from 'floodgate-client';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited, type Platform, PLATFORMS, type Reply } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';

jest.setTimeout(60_000);

const ADA = { kind: 'user', value: 'ada' } as const;

const TOKENS: Policy = {
  name: 'llm-tokens',
  algorithm: 'token-bucket',
  capacity: 20_000,
  refill: '20000/d',
  by: 'user',
  scope: 'app',
};
const LOGIN: Policy = {
  name: 'login',
  algorithm: 'sliding-window-log',
  limit: 5,
  window: '15m',
  by: 'user',
  scope: 'app',
  countIf: ({ status, aborted }: Outcome) => status === 401 || aborted,
};
const BLOCKING: Policy = { ...LOGIN, name: 'blocking', blockFor: '10m', blockAfter: 2 };

/** The work that has begun, until the test lets it end. */
class Work {
  private ends: (() => void)[] = [];
  begun = 0;

  begin(): Promise<void> {
    this.begun++;
    return new Promise((resolve) => this.ends.push(resolve));
  }

  end(count = Infinity): void {
    for (const end of this.ends.splice(0, count)) end();
  }
}

let work: Work;
beforeEach(() => {
  work = new Work();
});

@Controller()
class Routes {
  constructor(private readonly limiter: RateLimiter) {}

  @Post('answers')
  @HttpCode(200)
  async answer(): Promise<string> {
    const reservation = await this.limiter.reserve(TOKENS, ADA, { cost: 4_000 });
    if (!reservation.allowed) throw new RateLimitExceededException(reservation.decision);
    await work.begin();
    await reservation.settle(150);
    return 'because';
  }

  @Get('summary')
  @RateLimit({ ...TOKENS, cost: 4_000, settle: ({ value }: Outcome) => (value as { tokens: number }).tokens })
  async summary(): Promise<{ tokens: number }> {
    await work.begin();
    return { tokens: 150 };
  }

  @Get('login')
  @RateLimit(LOGIN)
  async login(@Query('password') password: string): Promise<string> {
    await work.begin();
    if (password !== 'right') throw new UnauthorizedException();
    return 'welcome';
  }

  @Get('blocking')
  @RateLimit(BLOCKING)
  async blocking(@Query('password') password: string): Promise<string> {
    return this.login(password);
  }
}

const redis = useRedis();
const STORES: Readonly<Record<string, () => RateLimitModuleOptions>> = {
  memory: () => ({ store: new MemoryStore() }),
  Redis: () => ({ redis: redis.server.url }),
  // Decided and settled by this process alone.
  'Redis away': () => ({ redis: 'redis://127.0.0.1:1', localShare: 1, onStoreFailure: 'local' }),
};
const KINDS = PLATFORMS.flatMap((platform) => Object.keys(STORES).map((store) => ({ platform, store })));

interface Kind {
  readonly platform: Platform;
  readonly store: string;
}

function open({ platform, store }: Kind, options: RateLimitModuleOptions = {}): Promise<HttpApp> {
  return limited(platform, Routes, { identity: FROM_HEADERS, deadline: 2_000, ...STORES[store]!(), ...options });
}

/** Sends requests at once, lets those end that have begun once the others are rejected, and returns all. */
async function atOnce(app: HttpApp, count: number, path: string, begun: number, method = 'GET'): Promise<Reply[]> {
  let rejected = 0;
  const replies = Promise.all(
    Array.from({ length: count }, async () => {
      const reply = await app.as('ada', path, { method });
      if (reply.status === 429) rejected++;
      return reply;
    }),
  );
  await until('all to begin or to be rejected', 20_000, () => work.begun === begun && rejected === count - begun);
  work.end();
  return replies;
}

/** Sends a request and lets it end. */
async function one(app: HttpApp, path: string, method = 'GET'): Promise<Reply> {
  const [reply, before] = [app.as('ada', path, { method }), work.begun];
  await Promise.race([reply, until('the handler', 20_000, () => work.begun > before)]);
  work.end();
  return reply;
}

/** Waits until all that ended is settled. */
async function untilSettled(app: HttpApp, policy: Policy, remaining: number): Promise<void> {
  const { countIf: _, settle: __, ...plain } = policy;
  await until(`${remaining} remaining`, 20_000, async () => {
    const { policies } = await app.app.get(RateLimiter).peek(plain, ADA);
    return policies[0]!.remaining === remaining;
  });
}

function rejections(replies: readonly Reply[]): readonly Reply[] {
  return replies.filter(({ status }) => status === 429);
}

describe.each(KINDS)('charges that are still open, over $platform with $store', (kind) => {
  it.each([
    ['a reservation', '/answers', 'POST'],
    ['a route that settles', '/summary', 'GET'],
  ])('of %s reject for about a second, and not for the time of the refill', async (_, path, method) => {
    await using app = await open(kind, { headers: 'both' });
    const rejected = rejections(await atOnce(app, 6, path, 5, method));
    expect(rejected).toHaveLength(1);
    const { headers, body } = rejected[0]!;
    expect(headers['retry-after']).toBe('1');
    expect(body).toMatchObject({ policy: 'llm-tokens', retry_after: 1, retry_after_ms: 1_000, estimated: true });
    expect(headers['ratelimit']).toBe('"llm-tokens";r=0;t=1;est');
    expect(headers['x-ratelimit-estimated']).toBe('true');
    await untilSettled(app, TOKENS, 19_250);
    expect((await one(app, path, method)).status).toBe(200);
  });

  it('of seven logins at once reject two for about a second, and count none of those that succeed', async () => {
    await using app = await open(kind, { headers: 'both' });
    const replies = await atOnce(app, 7, '/login?password=right', 5);
    const rejected = rejections(replies);
    expect(rejected).toHaveLength(2);
    for (const { headers, body } of rejected) {
      expect(headers['retry-after']).toBe('1');
      expect(body).toMatchObject({ policy: 'login', retry_after_ms: 1_000, estimated: true });
      expect([headers['ratelimit'], headers['x-ratelimit-estimated']]).toEqual(['"login";r=0;t=1;est', 'true']);
    }
    // The one that left nothing says so, and no other.
    const estimated = replies.filter(({ status, headers }) => status === 200 && 'x-ratelimit-estimated' in headers);
    expect(estimated.map(({ headers }) => headers['ratelimit'])).toEqual(['"login";r=0;t=1;est']);
    await untilSettled(app, LOGIN, 5);
    for (let i = 0; i < 2; i++) expect((await one(app, '/login?password=right')).status).toBe(200);
  });

  it('do not soften the rejection of a limit that is used up', async () => {
    await using app = await open(kind, { headers: 'both' });
    for (let i = 0; i < 5; i++) expect((await one(app, '/login?password=wrong')).status).toBe(401);
    const { status, headers, body } = await one(app, '/login?password=right');
    expect(status).toBe(429);
    expect(Number(headers['retry-after'])).toBeGreaterThan(800);
    expect(headers['ratelimit']).not.toContain('est');
    expect([headers['x-ratelimit-estimated'], body]).toEqual([
      undefined,
      expect.not.objectContaining({ estimated: true }),
    ]);
  });

  it('are told apart from those that count by now: four failed logins, and one that is still decided', async () => {
    await using app = await open(kind);
    for (let i = 0; i < 4; i++) await one(app, '/login?password=wrong');
    const slow = app.as('ada', '/login?password=wrong');
    await until('the handler', 20_000, () => work.begun === 5);
    // Not even the first of these is kept as certain.
    for (let i = 0; i < 3; i++) {
      const { body } = await app.as('ada', '/login?password=right');
      expect(body).toMatchObject({ estimated: true, retry_after_ms: 1_000 });
    }
    work.end();
    expect((await slow).status).toBe(401);
    const told = await until('the truth', 20_000, async () => {
      const { body } = await app.as('ada', '/login?password=right');
      return 'estimated' in (body as object) ? undefined : (body as { retry_after_ms: number });
    });
    expect(told.retry_after_ms).toBeGreaterThan(800_000);
  });

  it('make a certain rejection of no other request: one of a cost that fits neither way', async () => {
    await using app = await open(kind);
    const limiter = app.app.get(RateLimiter);
    const consumed = await limiter.consume(TOKENS, ADA, { cost: 15_000 });
    expect(consumed.allowed).toBe(true);
    const reserved = await limiter.reserve(TOKENS, ADA, { cost: 4_000 });
    const said = ({ policies: [policy] }: Decision): unknown => [policy!.estimated, policy!.retryAfterMs! > 1_000];
    expect(said(await limiter.consume(TOKENS, ADA, { cost: 5_000 }))).toEqual([true, false]);
    expect(said((await limiter.reserve(TOKENS, ADA, { cost: 5_000 })).decision)).toEqual([true, false]);
    expect(said(await limiter.consume(TOKENS, ADA, { cost: 6_000 }))).toEqual([undefined, true]);
    expect(said((await limiter.reserve(TOKENS, ADA, { cost: 6_000 })).decision)).toEqual([undefined, true]);
    await reserved.settle(4_000);
    expect(said(await limiter.consume(TOKENS, ADA, { cost: 5_000 }))).toEqual([undefined, true]);
  });

  it('asked for in one turn of the event loop are known to the requests behind them', async () => {
    await using app = await open(kind);
    const limiter = app.app.get(RateLimiter);
    const asked = [1, 2, 3, 4, 5].map(() => limiter.reserve(TOKENS, ADA, { cost: 4_000 }));
    const { policies } = await limiter.consume(TOKENS, ADA, { cost: 4_000 });
    expect(policies).toEqual([expect.objectContaining({ allowed: false, retryAfterMs: 1_000, estimated: true })]);
    for (const reservation of await Promise.all(asked)) await reservation.cancel();
    expect((await limiter.consume(TOKENS, ADA, { cost: 4_000 })).allowed).toBe(true);
  });

  it('do not shorten a block', async () => {
    await using app = await open(kind);
    const replies = await atOnce(app, 7, '/blocking?password=right', 5);
    const told = rejections(replies).map(({ body }) => (body as { retry_after_ms: number }).retry_after_ms);
    // The second rejection begins the block, which ends when it ends.
    expect(told.toSorted((a, b) => a - b)).toEqual([1_000, 600_000]);
    const { body } = await one(app, '/blocking?password=right');
    expect((body as { retry_after_ms: number }).retry_after_ms).toBeGreaterThan(590_000);
    expect(body).not.toHaveProperty('estimated');
  });
});

const HEADERS = ['x-ratelimit', 'draft', false] as const;
/** Each call waits a second. Any two of platform, store and format meet. */
const CALLED = HEADERS.flatMap((headers, i) =>
  PLATFORMS.map((platform, j) => ({ platform, store: ['memory', 'Redis'][(i + j) % 2]!, headers })),
);

describe.each(CALLED)('rateLimitFetch, over $platform with $store and headers $headers', (kind) => {
  it.each([
    ['six calls of a model', '/answers', 'POST', 6],
    ['six calls of a route that settles', '/summary', 'GET', 6],
    ['seven correct logins', '/login?password=right', 'GET', 7],
  ])('waits about a second, and all of %s pass, and those that follow', async (_, path, method, count) => {
    await using app = await open(kind, { headers: kind.headers });
    const waits: number[] = [];
    const limitedFetch = rateLimitFetch({ onWait: ({ waitMs }) => void waits.push(waitMs) });
    const call = async (): Promise<number> => {
      const { status } = await limitedFetch(`http://127.0.0.1:${app.port}${path}`, {
        method,
        headers: { 'X-User-Id': 'ada' },
      });
      return status;
    };
    const all = Promise.all(Array.from({ length: count }, call));
    await until('five to begin', 20_000, () => work.begun === 5);
    const ending = setInterval(() => work.end(), 20);
    try {
      expect(await all).toEqual(Array.from({ length: count }, () => 200));
      expect(await call()).toBe(200);
      expect(waits.length).toBeGreaterThan(0);
      expect(Math.max(...waits)).toBeLessThan(3_000);
    } finally {
      clearInterval(ending);
    }
  });
});
