import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get, Query } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import {
  MemoryStore,
  type Policy,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
  type RateLimitStore,
} from 'nestjs-floodgate';
import { Redis } from 'ioredis';
import { until } from '../../support/faults/until.js';
import { FROM_HEADERS, type HttpApp, limited, PLATFORMS } from '../../support/http-app.js';
import { Processes } from '../../support/processes/processes.js';
import { useRedis } from '../../support/redis-fixture.js';
import { COST, EXPIRES_MS, POLICIES } from './support/budget.js';
import type { procedures } from './workers/budget.js';

jest.setTimeout(60_000);

const ADA = { kind: 'user', value: 'ada' } as const;
/** A sweep comes within 4 s. The machine may be busy. */
const SWEPT_MS = 15_000;

let entered = 0;
const answer = async (ms: string | undefined): Promise<{ tokens: number }> => {
  entered++;
  await delay(Number(ms ?? 0));
  return { tokens: 150 };
};

@Controller()
class Routes {
  @Get('answer')
  @RateLimit('budget')
  answer(@Query('ms') ms?: string) {
    return answer(ms);
  }

  @Get('partly')
  @RateLimit('partly')
  partly(@Query('ms') ms?: string) {
    return answer(ms);
  }

  @Get('over')
  @RateLimit('full')
  over(@Query('ms') ms?: string) {
    return answer(ms);
  }

  @Get('counted')
  @RateLimit('counted')
  counted(@Query('ms') ms?: string) {
    return answer(ms);
  }
}

const redis = useRedis();
let prefixes = 0;
const inRedis = (): RateLimitModuleOptions => ({
  redis: redis.server.url,
  keyPrefix: `e${prefixes++}`,
  deadline: '5s',
});
const STORES: [string, () => RateLimitModuleOptions][] = [
  ['memory', () => ({ store: new MemoryStore() })],
  ['Redis', inRedis],
];
const KINDS = PLATFORMS.flatMap((platform) => STORES.map(([name, options]) => ({ platform, name, options })));

async function open(options: RateLimitModuleOptions, platform: (typeof PLATFORMS)[number] = 'Express') {
  const http: HttpApp = await limited(platform, Routes, { identity: FROM_HEADERS, policies: POLICIES, ...options });
  const limiter = http.app.get(RateLimiter);
  const used = async (policy: keyof typeof POLICIES): Promise<number> => {
    const { limit, remaining } = (await limiter.peek(policy, ADA)).policies[0]!;
    return limit - remaining;
  };
  return { http, limiter, used, [Symbol.asyncDispose]: () => http[Symbol.asyncDispose]() };
}

describe.each(KINDS)('a request whose charge expires, over $platform and in $name', ({ platform, options }) => {
  it('is settled at its end, and the expiry does nothing then', async () => {
    await using opened = await open(options(), platform);
    const { http, limiter, used } = opened;
    for (const path of ['/answer', '/partly', '/counted']) expect((await http.as('ada', path)).status).toBe(200);
    await until('they are settled', 5_000, async () => (await used('budget')) === 150);
    await until('they are settled', 5_000, async () => (await used('partly')) === 150);
    expect(limiter.stats().reservations).toEqual({ open: 0, rejected: 0, untimed: 0 });
    await delay(EXPIRES_MS + 100);
    expect([await used('budget'), await used('partly'), await used('counted')]).toEqual([150, 150, 10]);
    expect(http.logs.of('warn')).toEqual([]);
  });

  it('has its final cost of the expiry when it takes longer, and a larger one is charged at its end', async () => {
    await using opened = await open(options(), platform);
    const { http, used } = opened;
    const [before, ms] = [entered, 3 * EXPIRES_MS];
    const sent = ['/answer', '/partly', '/counted'].map((path) => http.as('ada', `${path}?ms=${ms}`));
    await until('they are charged', 5_000, () => entered === before + 3);
    await until('it has expired', 5_000, async () => (await used('budget')) === 0);
    await until('it has expired', 5_000, async () => (await used('partly')) === 500);
    await until('it has expired', 5_000, async () => (await used('counted')) === 0);
    for (const reply of await Promise.all(sent)) expect(reply.status).toBe(200);
    await until('it is charged late', 5_000, async () => (await used('budget')) === 150);
    await until('it counts', 5_000, async () => (await used('counted')) === 10);
    expect(await used('partly')).toBe(500);
  });

  it('expires in the policy that took it', async () => {
    await using opened = await open(options(), platform);
    const { http, used } = opened;
    const [before, ms] = [entered, 3 * EXPIRES_MS];
    const sent = [http.as('ada', `/over?ms=${ms}`), http.as('ada', `/over?ms=${ms}`)];
    await until('both are charged', 5_000, () => entered === before + 2);
    await until('they have expired', 5_000, async () => (await used('credits')) + (await used('full')) === 0);
    for (const reply of await Promise.all(sent)) expect(reply.status).toBe(200);
    await until('they are charged late', 5_000, async () => (await used('credits')) + (await used('full')) === 300);
  });

  it('is as well a scheduled call', async () => {
    await using opened = await open(options(), platform);
    const { limiter, used } = opened;
    const work = async (): Promise<object> => {
      await until('it has expired', 5_000, async () => (await used('budget')) === 0);
      return { tokens: 150 };
    };
    await limiter.schedule('budget', ADA, work);
    await until('it is charged late', 5_000, async () => (await used('budget')) === 150);
    await limiter.schedule('budget', ADA, () => ({ tokens: 50 }));
    await until('it is settled', 5_000, async () => (await used('budget')) === 200);
    expect(limiter.stats().reservations.open).toBe(0);
  });
});

describe('a process that dies in the middle of a request', () => {
  it('leaves the estimate to another one, which gives it back', async () => {
    const options = inRedis();
    const { keyPrefix } = options;
    await using other = await open(options);
    await using pods = await Processes.start<typeof procedures>(new URL('workers/budget.ts', import.meta.url), 1);
    const url = await pods.one(0, 'open', { redis: redis.server.url, keyPrefix: keyPrefix!, expires: 4_000 });
    const send = (path: string) => fetch(`${url}${path}`, { headers: { 'X-User-Id': 'ada' } }).catch(() => undefined);
    const sent = [send('/answer'), send('/answer'), send('/over'), send('/over')];
    void pods.one(0, 'schedule', 'ada').catch(() => undefined);
    const all = async (): Promise<number[]> => [
      await other.used('budget'),
      await other.used('full'),
      await other.used('credits'),
    ];
    await until('all are charged', 10_000, async () => String(await all()) === String([3 * COST, COST, COST]));
    const client = new Redis(redis.server.url);
    try {
      const keys = [0, 1, 2, 3].map((i) => `${keyPrefix}:{reservations-${i}}`);
      const inLog = async (): Promise<number> =>
        (await Promise.all(keys.map((key) => client.zcard(key)))).reduce((sum, count) => sum + count, 0);
      await until('they are in the log', 3_000, async () => (await inLog()) === 5);
    } finally {
      client.disconnect();
    }
    await pods.kill(0);
    await Promise.all(sent);
    expect(await all()).toEqual([3 * COST, COST, COST]);
    await until('they are given back', SWEPT_MS, async () => String(await all()) === '0,0,0');
    await delay(300);
    expect(await all()).toEqual([0, 0, 0]);
  });
});

describe.each(STORES)('a request of which middleware and route charge a part each, in %s', (_, options) => {
  let asked = 0;
  /** The middleware asks first. */
  const cost = (): number => (asked++ % 2 === 0 ? 3 : 8);
  const parts = {
    ...POLICIES.budget,
    cost,
    name: 'parts',
    atExpiry: 4,
    settle: ({ status }) => (status === 200 ? 2 : 6),
  } satisfies Policy;

  @Controller()
  class Parts {
    @Get('parts')
    @RateLimit(parts)
    parts(@Query('ms') ms?: string) {
      return answer(ms);
    }
  }

  it.each<[string, string, number]>([
    ['is settled in both', '/parts', 2],
    ['expires in both, and a smaller final cost refunds nothing', `/parts?ms=${3 * EXPIRES_MS}`, 4],
  ])('%s', async (_name, path, left) => {
    await using http = await limited('Express', Parts, { identity: FROM_HEADERS, ...options(), middleware: [parts] });
    const limiter = http.app.get(RateLimiter);
    const used = async (): Promise<number> => {
      const { limit, remaining } = (await limiter.peek([Parts, 'parts'], ADA)).policies[0]!;
      return limit - remaining;
    };
    expect((await http.as('ada', path)).status).toBe(200);
    await until('it is settled', 5_000, async () => (await used()) === left);
    await delay(EXPIRES_MS + 100);
    expect(await used()).toBe(left);
  });
});

describe.each(STORES)('a scheduled call that another policy takes, in %s', (_, options) => {
  it("is settled as the first policy's settle says", async () => {
    await using opened = await open(options());
    const { limiter, used } = opened;
    const work = (): object => ({ tokens: 150 });
    const first = await limiter.reserve('full', ADA);
    await limiter.schedule('full', ADA, work);
    await until('it is settled', 5_000, async () => (await used('credits')) === 150);
    await first.cancel();
    expect(await used('full')).toBe(0);
  });
});

describe('without an expiry', () => {
  it('nothing is written, and no sweep begins', async () => {
    const options = inRedis();
    const { expires: _expires, atExpiry: _atExpiry, ...plain } = POLICIES.budget;
    const policies = { budget: plain, partly: plain, full: plain, counted: plain } satisfies Record<string, Policy>;
    await using http = await limited('Express', Routes, { identity: FROM_HEADERS, policies, ...options });
    const client = new Redis(redis.server.url);
    try {
      await client.config('RESETSTAT');
      for (let i = 0; i < 3; i++) await http.as('ada', '/answer');
      await delay(200);
      const stats = await client.info('commandstats');
      for (const command of ['zadd', 'zrem', 'zrangebyscore']) expect(stats).not.toContain(`cmdstat_${command}:`);
    } finally {
      client.disconnect();
    }
  });
});

it('stays charged where a store cannot charge more, and the request has cost more', async () => {
  const memory = new MemoryStore();
  const store: RateLimitStore = {
    consume: (charges) => memory.consume(charges),
    refund: (receipts) => memory.refund(receipts),
    reset: (keys) => memory.reset(keys),
  };
  const dear = { ...POLICIES.budget, settle: () => 3 * COST } satisfies Policy;
  await using opened = await open({ store, policies: { ...POLICIES, budget: dear } });
  const { http, used } = opened;
  await http.as('ada', '/answer');
  await until('it is settled', 5_000, () => opened.limiter.stats().functionFailures.settle === 1);
  await delay(EXPIRES_MS + 100);
  expect(await used('budget')).toBe(COST);
});

describe('boot', () => {
  const WINDOW = { name: 'budget', algorithm: 'fixed-window', limit: 100, window: '1d', cost: 5 } as const;
  const settle = (): number => 1;

  it.each<[string, object, string]>([
    [
      'atExpiry without expires',
      { settle, atExpiry: 'cancel' },
      "atExpiry has no effect without expires: add expires, such as '60s'",
    ],
    [
      'expires without atExpiry',
      { settle, expires: '60s' },
      "expires needs atExpiry: 'cancel', or the final cost of a request whose process died. Without it the cost stays charged, as without expires",
    ],
    [
      'expires without settle and countIf',
      { expires: '60s', atExpiry: 'cancel' },
      'expires has no effect without settle or countIf: other charges are final',
    ],
    [
      'no duration',
      { settle, expires: 'soon', atExpiry: 0 },
      "expires must be a duration from '1ms' to '7d', such as '60s', got 'soon'",
    ],
    ['a longer duration', { settle, expires: '8d', atExpiry: 0 }, "got '8d'"],
    ['0', { settle, expires: 0, atExpiry: 0 }, 'got 0'],
    [
      "'keep'",
      { settle, expires: '60s', atExpiry: 'keep' },
      "atExpiry must be 'cancel', or the final cost as a whole number from 0 below the cost, got 'keep'",
    ],
    ['a negative cost', { settle, expires: '60s', atExpiry: -1 }, 'got -1'],
    ['a part of a cost', { settle, expires: '60s', atExpiry: 0.5 }, 'got 0.5'],
    [
      'a final cost that refunds nothing',
      { settle, expires: '60s', atExpiry: 5 },
      'atExpiry must be below the cost, which is 5, got 5: nothing would be refunded',
    ],
    [
      'a leaky bucket',
      {
        algorithm: 'leaky-bucket',
        capacity: 10,
        drain: 1,
        limit: undefined,
        window: undefined,
        settle,
        expires: '60s',
        atExpiry: 0,
      },
      'expires does not go with a leaky-bucket: a request that leaves its queue gives its slot back',
    ],
  ])('refuses %s', async (_, more, message) => {
    const given = Object.fromEntries(Object.entries({ ...WINDOW, ...more }).filter(([, value]) => value !== undefined));
    @Controller()
    class Wrong {
      @Get()
      @RateLimit(given as unknown as Policy)
      get(): void {}
    }
    const boot = limited('Express', Wrong, {});
    await expect(boot).rejects.toThrow(message);
    await expect(boot).rejects.toMatchObject({
      code: 'FG_INVALID_POLICY',
      message: expect.stringMatching(/^Wrong\.get, @RateLimit: /),
    });
  });

  it('takes a cost that is a function, a shadow and a candidate', async () => {
    const expiring = { settle, expires: '60s', atExpiry: 2 } as const;
    @Controller()
    class Right {
      @Get()
      @RateLimit(
        { ...WINDOW, ...expiring, name: 'a', cost: () => 5 },
        { ...WINDOW, ...expiring, name: 'b', mode: 'shadow' },
        { ...WINDOW, ...expiring, name: 'c', candidate: { limit: 50 } },
      )
      get(): void {}
    }
    await using http = await limited('Express', Right, {});
    const [route] = http.app.get(RateLimiter).table().routes;
    for (const policy of route!.policies)
      expect(policy).toMatchObject({ settles: 'settle', expiresMs: 60_000, atExpiry: 2 });
    expect((await http.send('/')).status).toBe(200);
  });
});
