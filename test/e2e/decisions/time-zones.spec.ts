import { Controller, Get } from '@nestjs/common';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type Policy,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
  RateLimitOverrides,
  type RateLimitRequest,
} from 'nestjs-floodgate';
import { DateTime } from 'luxon';

import { FROM_HEADERS, type HttpApp, limited } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { type Kind, KINDS, storeOf } from '../support/kinds.js';

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
}

const redis = useRedis();
let app: HttpApp;

afterEach(async () => {
  await app?.close();
  app = undefined!;
});

async function open({ platform }: Pick<Kind, 'platform'>, options: RateLimitModuleOptions): Promise<RateLimiter> {
  const plan = { resolve: () => undefined };
  app = await limited(platform, Routes, { identity: FROM_HEADERS, ...options, plan });
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

describe.each(KINDS)('the time zone of a request, over $platform with $store', (kind) => {
  it('ends the window of each client at the midnight of their zone, at once and later', async () => {
    await open(kind, storeOf(kind, redis));
    for (const zone of ['America/New_York', 'Pacific/Kiritimati', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'UTC']) {
      zones.set(zone, zone);
      await ends(zone, '/daily', zone, 'day');
      await ends(zone, '/later', zone, 'month');
    }
    expect(app.logs.of('warn')).toEqual([]);
  });

  it.each([
    ['Europe/Pari', `got 'Europe/Pari'`],
    ['+02:00', `got '+02:00'`],
    ['x'.repeat(100_000), 'got '],
    [new Error('no such account'), 'no such account'],
  ])('counts in UTC where the function gives %p', async (zone, problem) => {
    const limiter = await open(kind, storeOf(kind, redis));
    zones.set('ada', zone);
    await ends('ada', '/daily', 'UTC', 'day');
    expect(app.logs.of('warn')).toEqual([
      expect.stringMatching(/^timeZone of policy 'daily' failed, the request counts in UTC: /),
    ]);
    expect(app.logs.of('warn')[0]).toContain(problem);
    expect(limiter.stats().functionFailures).toMatchObject({ timeZone: 1, policy: 0 });
  });

  it('is explained, overridden and reset', async () => {
    const store = storeOf(kind, redis);
    const limiter = await open(kind, store);
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
    // A process that has not counted the client resets all zones.
    const first = app;
    const other = await open(kind, store);
    await other.reset({ route: 'GET /daily' }, user('ada'));
    expect((await app.as('ada', '/daily')).status).toBe(200);
    await first.close();
  });

  it('takes a zone in any spelling for one zone', async () => {
    await open(kind, storeOf(kind, redis));
    const statuses: number[] = [];
    for (const zone of ['Europe/Paris', 'europe/paris', 'EUROPE/PARIS']) {
      zones.set('ada', zone);
      statuses.push((await app.as('ada', '/daily')).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
  });

  it('is given to the limiter by code', async () => {
    const limiter = await open(kind, storeOf(kind, redis));
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
    await limiter.consume(policy, who, { timeZone, cost: 1 });
    expect((await limiter.consume(policy, who, { timeZone })).allowed).toBe(false);
    await limiter.reset(policy, who);
    expect((await limiter.consume(policy, who, { timeZone })).allowed).toBe(true);
  });
});
