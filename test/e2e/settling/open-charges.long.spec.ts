import { Controller, Get, HttpCode, Post, Query, UnauthorizedException } from '@nestjs/common';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  type Outcome,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitExceededException,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { rateLimitFetch } from 'floodgate-client';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited, type Reply } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { ToldStore } from '../../support/told-store.js';
import { type Kind, KINDS, storeOf } from '../support/kinds.js';

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
}

const redis = useRedis();
const AWAY = { store: ToldStore.failing(), localShare: 1 } as const;
/** The last one is decided and settled by this process alone. */
const STORES: readonly (readonly [name: string, kind: Kind, options?: RateLimitModuleOptions])[] = [
  ...KINDS.map((kind) => [`${kind.platform} with ${kind.store}`, kind] as const),
  ['Express while the store is away', { platform: 'Express', store: 'memory' }, AWAY],
];

function open(kind: Kind, options: RateLimitModuleOptions = {}): Promise<HttpApp> {
  return limited(kind.platform, Routes, { identity: FROM_HEADERS, ...storeOf(kind, redis), ...options });
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

describe.each(STORES)('charges that are still open, over %s', (_, kind, options) => {
  it.each([
    ['a reservation', '/answers', 'POST'],
    ['a route that settles', '/summary', 'GET'],
  ])('of %s reject for about a second, and not for the time of the refill', async (__, path, method) => {
    await using app = await open(kind, { headers: 'both', ...options });
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

  it('do not soften the rejection of a limit that is used up', async () => {
    await using app = await open(kind, { headers: 'both', ...options });
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
});

// Each call waits a second.
describe.each(KINDS)('rateLimitFetch, over $platform with $store', (kind) => {
  it.each([
    ['six calls of a model', '/answers', 'POST', 6],
    ['seven correct logins', '/login?password=right', 'GET', 7],
  ])('waits for the estimate, and all of %s pass, and those that follow', async (_, path, method, count) => {
    await using app = await open(kind, { headers: kind.store === 'Redis' ? 'draft' : 'x-ratelimit' });
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
    await until('five to begin, and the others to wait', 20_000, () => work.begun === 5 && waits.length === count - 5);
    const ending = setInterval(() => work.end(), 20);
    try {
      expect(await all).toEqual(Array.from({ length: count }, () => 200));
      expect(await call()).toBe(200);
      expect(Math.max(...waits)).toBeLessThan(3_000);
    } finally {
      clearInterval(ending);
    }
  });
});
