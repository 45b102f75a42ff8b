import { Controller, Get } from '@nestjs/common';
import { Int, Query, Resolver } from '@nestjs/graphql';
import { describe, expect, it, jest } from '@jest/globals';
import {
  MemoryStore,
  type Policy,
  RateLimit,
  RateLimiter,
  type RateLimitModuleOptions,
  RateLimitOverrides,
} from 'nestjs-floodgate';
import { type HttpApp, limited, PLATFORMS } from '../support/http-app.js';
import { codes, DRIVERS } from './support/graphql-app.js';
import { begin } from './support/riders.js';
import { useRedis } from '../support/redis-fixture.js';

jest.setTimeout(30_000); // applications boot and answer in real time, and the machine may be busy

const MATCHING = {
  name: 'matching',
  algorithm: 'fixed-window',
  limit: 8,
  window: '300d',
  by: 'global',
  scope: 'app',
  priorities: { rides: 1, estimates: 0.5 },
} as const satisfies Policy;

@Resolver()
class Rides {
  @Query(() => Int, { nullable: true })
  @RateLimit(MATCHING)
  ride(): number {
    return 1;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit({ ...MATCHING, priority: 'estimates' })
  estimate(): number {
    return 2;
  }
}

const redis = useRedis();

describe.each(DRIVERS)('classes of priority in one operation with %s', (driver) => {
  it.each(['memory', 'Redis'])(
    'each field passes by its own class, in any order, and the operation pays once: %s',
    async (kind) => {
      const options: RateLimitModuleOptions =
        kind === 'Redis' ? { redis: redis.server.url, store: undefined, deadline: '5s' } : { store: new MemoryStore() };
      await using app = await begin(driver, options, {}, [Rides]);
      const limiter = app.http.app.get(RateLimiter);
      const left = async (): Promise<number> => (await limiter.peek(MATCHING)).policies[0]!.remaining;
      // Three are used. With its own operation the estimates reach their part of four, and still pass.
      for (let i = 0; i < 3; i++) await limiter.consume(MATCHING);
      expect((await app.ask('{ ride estimate again: estimate more: ride }')).data).toMatchObject({
        ride: 1,
        estimate: 2,
      });
      expect(await left()).toBe(4);
      for (const query of ['{ ride estimate }', '{ estimate ride }', '{ a: ride b: estimate c: ride d: estimate }']) {
        const before = await left();
        const { data, errors = [] } = await app.ask(query);
        const values = Object.values(data!);
        expect(values.filter((value) => value === 1)).not.toEqual([]);
        expect(values.filter((value) => value === 2)).toEqual([]);
        expect(new Set(codes({ status: 200, headers: new Headers(), errors }))).toEqual(new Set(['RATE_LIMITED']));
        expect(await left()).toBe(before - 1);
      }
    },
  );
});

describe.each(PLATFORMS)('classes of priority in the middleware and on a route over %s', (platform) => {
  @Controller()
  class Routes {
    @Get('ride')
    @RateLimit(MATCHING)
    ride(): void {}

    @Get('estimate')
    @RateLimit({ ...MATCHING, priority: 'estimates' })
    estimate(): void {}
  }

  async function statuses(app: HttpApp, path: string, times: number): Promise<number[]> {
    const all: number[] = [];
    for (let i = 0; i < times; i++) all.push((await app.send(path)).status);
    return all;
  }

  it('a request passes the route by the class of the route', async () => {
    await using app = await limited(platform, Routes, { middleware: [MATCHING] });
    expect(await statuses(app, '/estimate', 5)).toEqual([200, 200, 200, 200, 429]);
    // What the middleware charged the fifth estimate came back.
    expect(await statuses(app, '/ride', 5)).toEqual([200, 200, 200, 200, 429]);
    const { policies } = app.app.get(RateLimiter).stats();
    expect(policies.find(({ priority }) => priority === 'estimates')).toMatchObject({ allowed: 4, rejected: 1 });
  });

  it('also under the numbers of an override', async () => {
    await using app = await limited(platform, Routes, { middleware: [MATCHING] });
    await app.app.get(RateLimitOverrides).set({ policy: 'matching' }, { limit: 4 });
    expect(await statuses(app, '/estimate', 3)).toEqual([200, 200, 429]);
    expect(await statuses(app, '/ride', 3)).toEqual([200, 200, 429]);
  });

  it('and while the store is away', async () => {
    const store = new MemoryStore();
    store.consume = () => {
      throw new Error('gone');
    };
    await using app = await limited(platform, Routes, { middleware: [MATCHING], store });
    expect(await statuses(app, '/estimate', 5)).toEqual([200, 200, 200, 200, 429]);
    expect(await statuses(app, '/ride', 5)).toEqual([200, 200, 200, 200, 429]);
  });
});
