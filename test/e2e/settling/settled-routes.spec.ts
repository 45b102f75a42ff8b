import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, type INestApplication, Query, UnauthorizedException } from '@nestjs/common';
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
import { dial, requestFor } from '../support/waiting-routes.js';

jest.setTimeout(30_000);

const ADA = { kind: 'user', value: 'ada' } as const;
const HOURS = { algorithm: 'fixed-window', window: '300d', by: 'user', scope: 'app' } as const;

interface Answer {
  readonly tokens: number;
}

let outcomes: Outcome[] = [];
let entered = 0;
let refuses = true;

const LOGIN: Policy = {
  name: 'login',
  algorithm: 'sliding-window-log',
  limit: 5,
  window: '15m',
  by: 'user',
  scope: 'app',
  countIf: (outcome) => {
    outcomes.push(outcome);
    return outcome.status === 401;
  },
};
const TOKENS: Policy = {
  ...HOURS,
  name: 'tokens',
  limit: 10_000,
  cost: 2_000,
  settle: ({ value }) => (value as Answer).tokens,
};
const BESIDE: Policy = { ...HOURS, name: 'beside', limit: 100 };
const LATE: Policy = { ...HOURS, name: 'late', limit: 9, countIf: async () => (await delay(5), false) };
const WRONG: Policy = { ...HOURS, name: 'wrong', limit: 9, settle: () => -1 };
const BROKEN: Policy = {
  ...HOURS,
  name: 'broken',
  limit: 9,
  countIf: () => {
    throw new Error('no idea');
  },
};

@Controller()
class Routes {
  @Get('login')
  @RateLimit(LOGIN)
  async login(): Promise<string> {
    entered++;
    await delay(30);
    if (refuses) throw new UnauthorizedException();
    return 'welcome';
  }

  @Get('summary')
  @RateLimit(TOKENS, BESIDE)
  summary(@Query('tokens') tokens: string): Answer {
    return { tokens: Number(tokens) };
  }

  @Get('late')
  @RateLimit(LATE)
  late(): void {}

  @Get('wrong')
  @RateLimit(BROKEN, WRONG)
  wrong(): void {}

  @Get('named')
  @RateLimit('named')
  named(): Answer {
    return { tokens: 3 };
  }

  @Get('plain')
  @RateLimit(BESIDE)
  plain(): void {}
}

const redis = useRedis();
const STORES: Readonly<Record<string, () => RateLimitModuleOptions>> = {
  memory: () => ({ store: new MemoryStore() }),
  Redis: () => ({ redis: redis.server.url }),
};
const KINDS = PLATFORMS.flatMap((platform) => Object.keys(STORES).map((store) => ({ platform, store })));

beforeEach(() => {
  [outcomes, entered, refuses] = [[], 0, true];
});

function open({ platform, store }: { platform: Platform; store: string }): Promise<HttpApp> {
  const named = { ...HOURS, limit: 50, cost: 10, settle: ({ value }: Outcome) => (value as Answer).tokens } as const;
  return limited(platform, Routes, {
    identity: FROM_HEADERS,
    deadline: 2_000,
    policies: { named },
    ...STORES[store]!(),
  });
}

const headers = { 'x-user-id': 'ada' };

async function free(app: INestApplication, policy: Policy): Promise<number> {
  const { countIf: _, settle: __, ...plain } = policy;
  return (await app.get(RateLimiter).peek(plain, ADA)).policies[0]!.remaining;
}

async function untilFree(app: INestApplication, policy: Policy, count: number): Promise<void> {
  await until(`${count} free`, 5_000, async () => (await free(app, policy)) === count);
}

describe.each(KINDS)('a route that is settled after its response, over $platform with $store', (kind) => {
  it('lets exactly 5 of 40 parallel guesses reach the handler, and counts no login that succeeds', async () => {
    await using app = await open(kind);
    const guesses = await Promise.all(Array.from({ length: 40 }, () => app.send('/login', { headers })));
    expect([entered, guesses.filter(({ status }) => status === 401).length]).toEqual([5, 5]);
    expect(guesses.filter(({ status }) => status === 429)).toHaveLength(35);
    await until('5 outcomes', 5_000, () => outcomes.length === 5);
    expect(await free(app.app, LOGIN)).toBe(0);
    await app.app.get(RateLimiter).reset(LOGIN, ADA);
    refuses = false;
    for (let i = 0; i < 12; i++) {
      expect((await app.send('/login', { headers })).status).toBe(200);
      await until('an outcome', 5_000, () => outcomes.length === 6 + i);
      await untilFree(app.app, LOGIN, 5);
    }
  });

  it('tells what the handler returned or threw, the status and the time', async () => {
    await using app = await open(kind);
    await app.send('/login', { headers });
    refuses = false;
    await app.send('/login', { headers });
    await until('2 outcomes', 5_000, () => outcomes.length === 2);
    const [refused, welcome] = outcomes;
    expect(refused).toMatchObject({ status: 401, value: undefined, aborted: false });
    expect(refused!.error).toBeInstanceOf(UnauthorizedException);
    expect(welcome).toMatchObject({ status: 200, value: 'welcome', error: undefined, aborted: false });
    for (const { durationMs } of outcomes) expect(durationMs).toBeGreaterThanOrEqual(29);
  });

  it('refunds what a reservation did not cost, charges what it cost more, and leaves other policies alone', async () => {
    await using app = await open(kind);
    const seen: number[] = [];
    for (const tokens of [150, 2_000, 5_000, 0]) {
      expect((await app.send(`/summary?tokens=${tokens}`, { headers })).status).toBe(200);
      const spent = [150, 2_150, 7_150, 7_150][seen.length]!;
      await untilFree(app.app, TOKENS, 10_000 - spent);
      seen.push(await free(app.app, BESIDE));
    }
    expect(seen).toEqual([99, 98, 97, 96]);
    expect((await app.send('/summary?tokens=9000', { headers })).status).toBe(200); // an overdraft
    await untilFree(app.app, TOKENS, 0);
    expect((await app.send('/summary?tokens=1', { headers })).status).toBe(429);
    expect(await free(app.app, BESIDE)).toBe(95);
  });

  it('takes policies of the module by name, and functions that answer later', async () => {
    await using app = await open(kind);
    expect((await app.send('/named', { headers })).status).toBe(200);
    await untilFree(app.app, { ...HOURS, name: 'named', limit: 50 }, 47);
    await app.send('/late', { headers });
    await untilFree(app.app, LATE, 9);
  });

  it('keeps the charge where the function throws or returns nonsense, and says so', async () => {
    await using app = await open(kind);
    expect((await app.send('/wrong', { headers })).status).toBe(200);
    await until('2 failures', 5_000, () => {
      const { functionFailures } = app.app.get(RateLimiter).stats();
      return functionFailures.countIf === 1 && functionFailures.settle === 1;
    });
    expect([await free(app.app, WRONG), await free(app.app, BROKEN)]).toEqual([8, 8]);
    // At most one warning a second is logged: that of the first policy.
    expect(app.logs.text).toMatch(/countIf of policy 'broken' failed, the request counts: no idea/);
  });

  it('tells of a client that hangs up', async () => {
    await using app = await open(kind);
    const socket = await dial(app.app);
    socket.write(requestFor('/login', 'ada'));
    await until('the handler', 5_000, () => entered === 1);
    socket.destroy();
    await until('an outcome', 5_000, () => outcomes.length === 1);
    expect(outcomes[0]!.aborted).toBe(true);
    await untilFree(app.app, LOGIN, 5);
  });
});

describe.each(KINDS)('a policy in the middleware and on a route, over $platform with $store', ({ platform, store }) => {
  it('settles the final cost of a request once, whatever each of them has charged', async () => {
    const both: Policy = { ...HOURS, name: 'both', limit: 100, settle: ({ value }) => Number(value) };
    // The middleware knows no handler yet.
    const charged: Policy = { ...both, cost: (_, context) => (context.getHandler().name === 'dear' ? 5 : 2) };

    @Controller()
    class Both {
      @Get('dear')
      @RateLimit(charged)
      dear(@Query('final') final: string): string {
        return final;
      }

      @Get('same')
      @RateLimit(charged)
      same(@Query('final') final: string): string {
        return final;
      }

      @Get('plain')
      plain(): void {}
    }
    const options = { identity: FROM_HEADERS, middleware: [charged], ...STORES[store]!() };
    await using app = await limited(platform, Both, options);
    let left = 100;
    for (const [path, final] of [
      ['dear', 9],
      ['dear', 1],
      ['dear', 3],
      ['dear', 5],
      ['same', 7],
      ['same', 0],
    ] as const) {
      expect((await app.send(`/${path}?final=${final}`, { headers })).status).toBe(200);
      left -= final;
      await untilFree(app.app, both, left);
    }
    // The outcome of a request without a handler has no value: what the middleware charged stays.
    await app.send('/nowhere', { headers });
    await until('a failure', 5_000, () => app.app.get(RateLimiter).stats().functionFailures.settle === 1);
    expect(await free(app.app, both)).toBe(left - 2);
  });
});

describe('what cannot be settled', () => {
  it.each<[string, object]>([
    ['countIf and settle exclude each other', { ...LOGIN, settle: () => 1 }],
    ['countIf is not for a concurrency', { algorithm: 'concurrency', limit: 1, lease: '1s', countIf: () => true }],
    ['settle must be a function, got 7', { ...BESIDE, settle: 7 }],
  ])('stops the boot: %s', async (message, policy) => {
    @Controller()
    class Wrong {
      @Get()
      @RateLimit(policy as Policy)
      get(): void {}
    }
    await expect(limited('Express', Wrong, { identity: FROM_HEADERS })).rejects.toThrow(message);
  });

  it('is said where a policy is charged by code', async () => {
    await using app = await limited('Express', Routes, {
      identity: FROM_HEADERS,
      policies: { named: { ...TOKENS, name: 'named' } },
    });
    const limiter = app.app.get(RateLimiter);
    await limiter.peek('named', ADA);
    await (await limiter.reserve('named', ADA)).cancel();
    expect(app.logs.text).not.toContain('needs a request');
    await limiter.consume('named', ADA);
    expect(app.logs.text).toMatch(/policy 'named' has a settle, which needs a request: call RateLimiter.reserve/);
  });
});
