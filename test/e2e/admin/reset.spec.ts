import { Controller, Get, Post } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { describe, expect, it } from '@jest/globals';
import {
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitGuard,
  RateLimitModule,
  RateLimitOverrides,
  type RateLimitStore,
} from 'nestjs-floodgate';
import { FROM_HEADERS, limited, start } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { StillStore } from '../../support/still-store.js';

const ONE = { algorithm: 'fixed-window', limit: 1, window: '300d' } as const;
const ADA = { kind: 'user', value: 'ada' };

@Controller('rides')
class Rides {
  @Post()
  @RateLimit('login')
  request(): void {}

  @Get()
  @RateLimit('login', { ...ONE, name: 'app', scope: 'app' })
  list(): void {}
}

@Controller('shared')
@RateLimit('login')
class Shared {
  @Get()
  get(): void {}
}

const policies: Record<string, Policy> = { login: ONE };

describe('a reset of RateLimiter', () => {
  const open = () => limited('Express', [Rides, Shared], { store: new StillStore(), policies, identity: FROM_HEADERS });

  it('clears the states of a policy name on every route, and returns them', async () => {
    await using app = await open();
    const limiter = app.app.get(RateLimiter);
    const take = async (): Promise<number[]> => [
      (await app.as('ada', '/rides', { method: 'POST' })).status,
      (await app.as('ada', '/rides')).status,
      (await app.as('ada', '/shared')).status,
      Number((await limiter.consume('login', ADA)).allowed),
    ];
    expect(await take()).toEqual([201, 200, 200, 1]);
    expect(await take()).toEqual([429, 429, 429, 0]);
    const cleared = await limiter.reset('login', ADA);
    expect(cleared.map(({ policy, scope }) => `${policy} ${scope}`).toSorted()).toEqual([
      'login GET /rides',
      'login POST /rides',
      'login Shared /shared',
      'login app',
    ]);
    // The list of rides has a second policy. Its state stays.
    expect(await take()).toEqual([201, 429, 200, 1]);
  });

  it('of a route clears the states of its policies, and no others', async () => {
    await using app = await open();
    const limiter = app.app.get(RateLimiter);
    for (const method of ['POST', 'GET']) await app.as('ada', '/rides', { method });
    expect(await limiter.reset([Rides, 'list'], ADA)).toEqual([
      { policy: 'login', scope: 'GET /rides', found: true },
      { policy: 'app', scope: 'app', found: true },
    ]);
    expect((await app.as('ada', '/rides')).status).toBe(200);
    expect((await app.as('ada', '/rides', { method: 'POST' })).status).toBe(429);
  });
});

@Controller('counted')
class Counted {
  @Get()
  @RateLimit({ ...ONE, name: 'rides', by: 'user', onMissingIdentity: 'reject' })
  get(): void {}

  @Get('free')
  @RateLimit({ ...ONE, name: 'free', by: () => ({ kind: 'tenant', value: 't' }) })
  free(): void {}
}

describe('an operator who means nobody', () => {
  const open = () => limited('Express', [Counted], { store: new StillStore(), policies, identity: FROM_HEADERS });

  it.each([
    ['rides', 'users:ada', "no identity has the kind 'users'. Did you mean 'user'?"],
    ['login', 'users:ada', "no identity has the kind 'users'. Did you mean 'user'?"],
    ['login', 'ip:ada', "the tag of an address has it as it is counted, as in 'ip:203.0.113.9'"],
    ['login', 'ip:2001%3Adb8%3A%3A1', "got a text of 17 bytes: give { kind: 'ip', value: '...' }"],
    [
      'rides',
      'ip:203.0.113.9',
      "policy 'rides' counts by 'user', so nothing is counted there for an identity of the kind 'ip'",
    ],
  ])('is refused, of policy %s and identity %s, by reset and overrides', async (policy, identity, message) => {
    await using app = await open();
    const overrides = app.app.get(RateLimitOverrides);
    await expect(app.app.get(RateLimiter).reset(policy, identity)).rejects.toThrow(message);
    await expect(overrides.set({ policy, identity }, { blocked: true })).rejects.toThrow(message);
    expect((await overrides.history()).items).toEqual([]);
  });

  it('is refused by overrides of code, as by those of REST, with text that is no tag', async () => {
    await using app = await open();
    const set = app.app.get(RateLimitOverrides).set({ policy: 'rides', identity: 'ada' }, { blocked: true });
    await expect(set).rejects.toThrow(
      "identity must be { kind, value } or a tag such as 'user:rider-1', got a text of 3 bytes",
    );
  });

  it.each([
    ['rides', 'user:nobody'],
    ['login', 'device:7'],
    ['login', 'ip:2001%3Adb8%3A%3A/56'],
    ['free', 'tenant:other'],
  ])('is told that policy %s has no state of %s', async (policy, identity) => {
    await using app = await open();
    await app.as('ada', '/counted');
    const limiter = app.app.get(RateLimiter);
    for (const one of await limiter.reset({ policy }, identity)) expect(one).toMatchObject({ policy, found: false });
    expect((await app.as('ada', '/counted')).status).toBe(429);
    expect(await limiter.reset({ policy: 'rides' }, ADA)).toMatchObject([{ found: true }]);
    expect((await app.as('ada', '/counted')).status).toBe(200);
  });

  it('is not refused where a guard of the application finds identities itself', async () => {
    class UsersGuard extends RateLimitGuard {
      protected override identityTag(): string {
        return 'driver:ada';
      }
    }
    await using app = await start('Express', {
      imports: [RateLimitModule.forRoot({ store: new StillStore(), policies, identity: FROM_HEADERS, guard: false })],
      controllers: [Counted],
      providers: [{ provide: APP_GUARD, useClass: UsersGuard }],
    });
    await app.as('ada', '/counted');
    expect(await app.app.get(RateLimiter).reset('rides', 'driver:ada')).toMatchObject([{ found: true }]);
  });

  it('is told by a store of the application that it does not know', async () => {
    const store = new StillStore();
    const silent: RateLimitStore = {
      consume: (charges) => store.consume(charges),
      reset: (keys) => void store.reset(keys),
    };
    await using app = await limited('Express', [Counted], { store: silent, policies, identity: FROM_HEADERS });
    expect(await app.app.get(RateLimiter).reset('login', ADA)).toMatchObject([{ found: null }]);
  });
});

describe('with Redis', () => {
  const redis = useRedis();

  it('a reset says whether there was a state', async () => {
    const options = { redis: redis.server.url, deadline: '10s', policies, identity: FROM_HEADERS } as const;
    await using app = await limited('Express', [Counted], options);
    const limiter = app.app.get(RateLimiter);
    await limiter.consume('login', ADA);
    expect(await limiter.reset('login', ADA)).toMatchObject([{ found: true }]);
    expect(await limiter.reset('login', ADA)).toMatchObject([{ found: false }]);
  });
});
