import { Controller, Get } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import {
  MemoryStore,
  type Policy,
  RateLimit,
  RateLimitConfigError,
  RateLimiter,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { DateTime } from 'luxon';
import { timeZones } from '../../../libs/rate-limit/src/algorithms/calendar.js';
import { FROM_HEADERS, type HttpApp, limited, type Platform, PLATFORMS } from '../../support/http-app.js';
import { RedisServer } from '../../support/redis-server.js';
import { TestClock } from '../../support/test-clock.js';

/** The zones of users, as an account would have them: what a test puts here is what the function returns. */
const zones = new Map<string, unknown>();

type HeaderRequest = RateLimitRequest<{ headers: Record<string, string> }>;

const userOf = ({ headers }: HeaderRequest): string => headers['x-user-id'] ?? '';
const zoneOf = (request: HeaderRequest): string => {
  const zone = zones.get(userOf(request));
  if (zone instanceof Error) throw zone;
  return zone as string;
};
const zoneLater = async (request: HeaderRequest): Promise<string> => zoneOf(request);
const user = (value: string) => ({ kind: 'user', value });

const DAILY = {
  name: 'daily',
  algorithm: 'fixed-window',
  limit: 2,
  window: { calendar: 'day', timeZone: zoneOf },
  by: 'user',
  plans: { plus: { limit: 4 } },
} as const satisfies Policy;

@Controller()
class Routes {
  @Get('daily')
  @RateLimit(DAILY)
  daily(): void {}

  @Get('later')
  @RateLimit({ ...DAILY, name: 'later', window: { calendar: 'month', timeZone: zoneLater } })
  later(): void {}

  @Get('never')
  @RateLimit({
    ...DAILY,
    name: 'never',
    window: { calendar: 'day', timeZone: () => new Promise<string>(() => undefined) },
  })
  never(): void {}

  @Get('plain')
  @RateLimit({ algorithm: 'fixed-window', limit: 2, window: '1d', by: 'user' })
  plain(): void {}
}

let server: RedisServer;
let app: HttpApp;

beforeAll(async () => {
  server = await RedisServer.start();
});
afterAll(() => server.stop());
afterEach(() => app.close());

const STORES: [string, () => RateLimitModuleOptions][] = [
  ['memory', () => ({ store: new MemoryStore() })],
  ['Redis', () => ({ redis: server.url, keyPrefix: `t${Math.random()}` })],
];
const EVERYWHERE = PLATFORMS.flatMap((platform) => STORES.map(([store, options]) => ({ platform, store, options })));

async function open(platform: Platform, options: RateLimitModuleOptions): Promise<RateLimiter> {
  const plan = { resolve: (request: HeaderRequest) => (userOf(request).startsWith('plus') ? 'plus' : undefined) };
  app = await limited(platform, Routes, { identity: FROM_HEADERS, deadline: 250, ...options, plan });
  return app.app.get(RateLimiter);
}

/** When the window ends, as the response says; and as Luxon says, at the beginning and at the end of the test's request. */
async function ends(who: string, path: string, zone: string, unit: 'day' | 'month'): Promise<void> {
  const next = (): number =>
    DateTime.now()
      .setZone(zone)
      .plus({ [unit]: 1 })
      .startOf(unit)
      .toSeconds();
  const before = next();
  const { headers } = await app.as(who, path);
  const resetAt = Number(headers['x-ratelimit-reset']); // whole seconds, rounded up twice
  expect(resetAt - 1 <= next() && resetAt >= before).toBe(true);
}

describe.each(EVERYWHERE)('the time zone of a request, over $platform with $store', ({ platform, options }) => {
  it('ends the window of each client at the midnight of their zone, at once and later', async () => {
    await open(platform, options());
    for (const zone of ['America/New_York', 'Pacific/Kiritimati', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'UTC']) {
      zones.set(zone, zone);
      await ends(zone, '/daily', zone, 'day');
      await ends(zone, '/later', zone, 'month');
    }
    expect(app.logs.of('warn')).toEqual([]);
  });

  it('counts a client for itself, under the numbers of its plan', async () => {
    await open(platform, options());
    for (const who of ['ada', 'plus-bob', 'eve']) zones.set(who, 'Europe/Paris');
    const statuses = async (who: string): Promise<number[]> =>
      (await Promise.all(Array.from({ length: 6 }, () => app.as(who, '/daily'))))
        .map(({ status }) => status)
        .toSorted((one, other) => one - other);
    expect(await statuses('ada')).toEqual([200, 200, 429, 429, 429, 429]);
    expect(await statuses('plus-bob')).toEqual([200, 200, 200, 200, 429, 429]);
    expect(await statuses('eve')).toEqual([200, 200, 429, 429, 429, 429]);
  });

  it('takes a zone in any spelling for one zone', async () => {
    await open(platform, options());
    const statuses: number[] = [];
    for (const zone of ['Europe/Paris', 'europe/paris', 'EUROPE/PARIS']) {
      zones.set('ada', zone);
      statuses.push((await app.as('ada', '/daily')).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
  });

  it.each([
    ['Europe/Pari', `got 'Europe/Pari'`],
    ['+02:00', `got '+02:00'`],
    [undefined, 'got undefined'],
    [{ zone: 'Europe/Paris' }, 'got an object'],
    ['x'.repeat(100_000), 'got '],
    [new Error('no such account'), 'no such account'],
  ])('counts in UTC where the function gives %p', async (zone, problem) => {
    const limiter = await open(platform, options());
    zones.set('ada', zone);
    await ends('ada', '/daily', 'UTC', 'day');
    zones.set('ada', 'UTC');
    expect((await app.as('ada', '/daily')).status).toBe(200);
    expect((await app.as('ada', '/daily')).status).toBe(429);
    expect(app.logs.of('warn')).toEqual([
      expect.stringMatching(/^timeZone of policy 'daily' failed, the request counts in UTC: /),
    ]);
    expect(app.logs.of('warn')[0]).toContain(problem);
    expect(limiter.stats().functionFailures).toMatchObject({ timeZone: 1, policy: 0 });
  });

  it('waits no longer than the deadline for a function that hangs', async () => {
    const limiter = await open(platform, options());
    const since = performance.now();
    expect((await app.as('ada', '/never')).status).toBe(200);
    expect(performance.now() - since).toBeLessThan(2000);
    expect(app.logs.of('warn')[0]).toContain('it did not settle within 250 ms');
    expect(limiter.stats().functionFailures.timeZone).toBe(1);
  });

  it('is explained, overridden and reset', async () => {
    const limiter = await open(platform, options());
    zones.set('ada', 'Asia/Tokyo');
    const route = [Routes, 'daily'] as const;
    const one = async (given?: { timeZone: string }) => (await limiter.explain(route, user('ada'), given)).policies[0]!;
    expect((await one()).timeZone).toEqual({ name: 'UTC', isKnown: false });
    for (let i = 0; i < 3; i++) await app.as('ada', '/daily');
    expect(await one()).toMatchObject({
      timeZone: { name: 'Asia/Tokyo', isKnown: true },
      numbers: { limit: 2, window: { calendar: 'day', timeZone: 'Asia/Tokyo' } },
      isRejected: true,
    });
    expect(await one({ timeZone: 'Asia/Seoul' })).toMatchObject({ isRejected: false, level: { used: 0 } });
    expect((await limiter.peek([Routes, 'daily'], user('ada'))).allowed).toBe(false);
    expect((await limiter.peek([Routes, 'daily'], user('ada'), { timeZone: 'utc' })).allowed).toBe(true);

    await app.app.get(RateLimitOverrides).set({ policy: 'daily', identity: user('ada') }, { limit: 3 });
    expect((await app.as('ada', '/daily')).status).toBe(200);
    expect((await app.as('ada', '/daily')).status).toBe(429);
    const { numbers, override } = await one();
    expect([numbers, override?.change]).toEqual([
      { limit: 3, window: { calendar: 'day', timeZone: 'Asia/Tokyo' } },
      { limit: 3 },
    ]);
    await limiter.reset('daily', user('ada'));
    expect((await app.as('ada', '/daily')).status).toBe(200);
  });

  it('is reset in all zones by a process that has not counted the client', async () => {
    const shared = options();
    const store = shared.store ?? undefined;
    await open(platform, shared);
    zones.set('ada', 'Asia/Tokyo');
    for (let i = 0; i < 3; i++) await app.as('ada', '/daily');
    const first = app;
    const other = await open(platform, store === undefined ? shared : { store });
    await other.reset({ route: 'GET /daily' }, user('ada'));
    expect((await app.as('ada', '/daily')).status).toBe(200);
    await first.close();
  });

  it('is given to the limiter by code', async () => {
    const limiter = await open(platform, options());
    const who = user('ada');
    const policy = { ...DAILY, plans: undefined, name: 'jobs' } as const;
    const timeZone = 'America/New_York';
    await expect(limiter.consume(policy, who)).rejects.toThrow(
      "the time zone of policy 'jobs' is a function of a request: give { timeZone: 'Europe/Paris' } outside of a request",
    );
    await expect(limiter.consume(policy, who, { timeZone: 'Mars' })).rejects.toThrow(
      "timeZone must be a time zone of the IANA database, such as 'Europe/Paris', got 'Mars'",
    );
    await expect(limiter.consume({ ...policy, window: '1d' }, who, { timeZone })).rejects.toThrow(
      "timeZone has no effect, because no policy of the call has one that is a function ('jobs')",
    );
    expect((await limiter.consume(policy, who, { timeZone })).policies[0]!.remaining).toBe(1);
    const reservation = await limiter.reserve(policy, who, { timeZone });
    expect(reservation.allowed).toBe(true);
    expect((await limiter.peek(policy, who, { timeZone })).allowed).toBe(false);
    await reservation.cancel();
    expect((await limiter.peek(policy, who, { timeZone: 'america/new_york' })).allowed).toBe(true);
    await limiter.consume(policy, who, { timeZone, cost: 1 });
    expect((await limiter.consume(policy, who, { timeZone })).allowed).toBe(false);
    await limiter.reset(policy, who);
    expect((await limiter.consume(policy, who, { timeZone })).allowed).toBe(true);
  });

  it('is a function in the table, which is plain data', async () => {
    const limiter = await open(platform, options());
    const { routes } = JSON.parse(JSON.stringify(limiter.table())) as ReturnType<RateLimiter['table']>;
    const window = { calendar: 'day', timeZone: 'function' };
    expect(routes.find(({ route }) => route === 'GET /daily')!.policies[0]).toMatchObject({
      numbers: { limit: 2, window },
      plans: { plus: { limit: 4, window } },
    });
  });
});

describe.each(PLATFORMS)('a day that is longer or shorter, over %s', (platform) => {
  it.each([
    ['America/New_York', '2026-11-01T04:00:00.000Z', 25],
    ['America/New_York', '2026-03-08T05:00:00.000Z', 23],
    ['Australia/Lord_Howe', '2026-04-04T13:00:00.000Z', 24.5],
    ['Africa/Cairo', '2026-04-23T22:00:00.000Z', 23], // it has no midnight
  ])('in %s from %s is one window of %d hours', async (zone, midnight, hours) => {
    const clock = new TestClock(Date.parse(midnight) * 1000);
    await open(platform, { store: new MemoryStore({ clock: clock.read }) });
    zones.set('ada', zone);
    const status = async (): Promise<number> => (await app.as('ada', '/daily')).status;
    expect([await status(), await status(), await status()]).toEqual([200, 200, 429]);
    expect((await app.as('ada', '/daily')).headers['retry-after']).toBe(String(hours * 3600));
    clock.now += hours * 3_600_000_000 - 1;
    expect(await status()).toBe(429);
    clock.now += 1;
    expect(await status()).toBe(200);
  });
});

describe('a function that says the time zone', () => {
  it.each<[unknown, string]>([
    [{ ...DAILY, by: 'global', plans: undefined }, 'not for policies that count all clients together'],
    [{ ...DAILY, name: 'x'.repeat(64) }, 'bytes in keys, at most'],
  ])('stops the boot where it cannot work: %p', async (policy, problem) => {
    @Controller('long'.repeat(18))
    class Wrong {
      @Get('daily')
      @RateLimit(policy as Policy)
      daily(): void {}
    }
    const boot = limited('Express', Wrong, { identity: FROM_HEADERS, plan: { resolve: () => undefined } });
    await expect(boot).rejects.toThrow(RateLimitConfigError);
    await expect(boot).rejects.toThrow(problem);
    app = await limited('Express', Routes, { identity: FROM_HEADERS, plan: { resolve: () => undefined } });
  });

  it('is refused in an override, which no request is asked for', async () => {
    await open('Express', {});
    const set = app.app
      .get(RateLimitOverrides)
      .set({ policy: 'daily', identity: user('ada') }, { window: DAILY.window } as never);
    await expect(set).rejects.toThrow('the timeZone of a window must be a name here, got a function');
  });

  it('makes one policy for each zone that clients have, whatever they send', async () => {
    await open('Express', {});
    const all = [...timeZones()];
    expect(all.length).toBeGreaterThan(400);
    expect(all.length).toBeLessThan(600);
    for (const [i, zone] of all.entries()) {
      zones.set(`rider-${i}`, zone);
      expect((await app.as(`rider-${i}`, '/daily')).headers['x-ratelimit-remaining']).toBe('1');
    }
    expect(app.logs.of('warn')).toEqual([]);
  });

  it('is reset on many routes and under many plans without holding up the process', async () => {
    const controllers = Array.from({ length: 40 }, (_, i) => {
      @Controller(`place-${i}`)
      class Place {
        @Get()
        get(): void {}
      }
      return Place;
    });
    const defaults = [{ ...DAILY, plans: { plus: { limit: 4 }, pro: { limit: 8 } } }];
    const plan = { resolve: () => 'pro' };
    app = await limited('Express', controllers, { store: new MemoryStore(), identity: FROM_HEADERS, defaults, plan });
    zones.set('ada', 'Asia/Tokyo');
    for (let i = 0; i < 8; i++) await app.as('ada', '/place-39');
    expect((await app.as('ada', '/place-39')).status).toBe(429);
    const since = performance.now();
    expect(await app.app.get(RateLimiter).reset('daily', user('ada'))).toHaveLength(40);
    expect(performance.now() - since).toBeLessThan(3000); // a policy for each zone, plan and route takes 10 s
    expect((await app.as('ada', '/place-39')).status).toBe(200);
  });
});
