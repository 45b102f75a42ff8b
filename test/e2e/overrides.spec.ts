import { Controller, Get } from '@nestjs/common';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  type Identity,
  OverrideConflictError,
  type Policy,
  RateLimit,
  type RateLimitExceededBody,
  RateLimiter,
  type RateLimitModuleOptions,
  RateLimitOverrides,
} from 'nestjs-floodgate';
import { FROM_HEADERS, type HttpApp, left, limited, PLATFORMS } from '../support/http-app.js';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { useRedis } from '../support/redis-fixture.js';

jest.setTimeout(20_000);

const API: Policy = { name: 'api', algorithm: 'token-bucket', capacity: 3, refill: '1/h' };
const DAILY: Policy = { name: 'daily', algorithm: 'fixed-window', limit: 3, window: '300d' };
const ALL: Policy = { name: 'all', algorithm: 'token-bucket', capacity: 1000, refill: '1/h', by: 'global' };
const ADA: Identity = { kind: 'user', value: 'ada' };
const BOB: Identity = { kind: 'user', value: 'bob' };

@Controller()
class Routes {
  @Get('bucket')
  @RateLimit(API)
  bucket(): string {
    return 'ok';
  }

  @Get('window')
  @RateLimit(DAILY)
  window(): string {
    return 'ok';
  }

  @Get('both')
  @RateLimit({ ...API, name: 'one' }, { ...DAILY, name: 'two' })
  both(): string {
    return 'ok';
  }

  @Get('all')
  @RateLimit(ALL)
  all(): string {
    return 'ok';
  }

  @Get('queue')
  @RateLimit({ name: 'queue', algorithm: 'leaky-bucket', capacity: 2, drain: 1000 })
  queue(): string {
    return 'ok';
  }
}

const redis = useRedis();

const STORES: [string, () => RateLimitModuleOptions][] = [
  ['the memory store', () => ({})],
  ['Redis', () => ({ redis: redis.server.url })],
];
const CASES = PLATFORMS.flatMap((platform) => STORES.map(([store, options]) => [platform, store, options] as const));

describe.each(CASES)('overrides over %s with %s', (platform, _store, options) => {
  function service(more: RateLimitModuleOptions = {}): Promise<HttpApp> {
    return limited(platform, Routes, {
      identity: FROM_HEADERS,
      policies: { coded: { ...API, name: 'coded' } },
      ...options(),
      ...more,
    });
  }

  async function statuses(http: HttpApp, path: string, count: number, user = 'ada'): Promise<number[]> {
    const seen: number[] = [];
    for (let i = 0; i < count; i++) seen.push((await http.as(user, path)).status);
    return seen;
  }

  it('raises one client at once, and nobody else', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    expect(await statuses(http, '/bucket', 4)).toEqual([200, 200, 200, 429]);
    const set = await overrides.set({ policy: 'api', identity: ADA }, { capacity: 5 }, { expiresIn: '24h' });
    // A denial from before is not cached beyond the change. A changed bucket begins full.
    expect(await statuses(http, '/bucket', 6)).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await statuses(http, '/bucket', 4, 'bob')).toEqual([200, 200, 200, 429]);
    expect(set).toMatchObject({ policy: 'api', identity: 'user:ada', scope: undefined, change: { capacity: 5 } });
    expect(set.expiresAtMs! - set.setAtMs).toBe(86_400_000);
    expect(Math.abs(set.setAtMs - Date.now())).toBeLessThan(5000);
  });

  it('shows the other limit in headers and decisions', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    const { version } = await overrides.set({ policy: 'api', identity: ADA }, { capacity: 50 });
    const reply = await http.as('ada', '/bucket');
    expect([reply.headers['x-ratelimit-limit'], left(reply)]).toEqual(['50', 49]);
    const limiter = http.app.get(RateLimiter);
    await overrides.set({ policy: 'coded', identity: ADA }, { refill: '2/h' });
    const decision = await limiter.consume('coded', ADA);
    expect(decision.policies[0]).toMatchObject({ limit: 3, remaining: 2, override: expect.any(Number) });
    expect(decision.policies[0]!.override).toBeGreaterThan(version);
    const { policies } = await limiter.consume('coded', BOB);
    expect(policies[0]).not.toHaveProperty('override');
  });

  it('goes on counting in a window whose limit changes', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    expect(await statuses(http, '/window', 4)).toEqual([200, 200, 200, 429]);
    await overrides.set({ policy: 'daily', identity: ADA }, { limit: 5 });
    expect(await statuses(http, '/window', 3)).toEqual([200, 200, 429]);
    await overrides.set({ policy: 'daily', identity: ADA }, { limit: 1 });
    expect(await statuses(http, '/window', 1)).toEqual([429]);
    expect(await overrides.remove({ policy: 'daily', identity: ADA })).toBe(true);
    expect(await statuses(http, '/window', 1)).toEqual([429]);
  });

  it('begins afresh in a window of another length, and goes on in the first one after it', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    expect(await statuses(http, '/window', 2)).toEqual([200, 200]);
    await overrides.set({ policy: 'daily', identity: ADA }, { window: '301d' });
    expect(await statuses(http, '/window', 4)).toEqual([200, 200, 200, 429]);
    await overrides.remove({ policy: 'daily', identity: ADA });
    expect(await statuses(http, '/window', 2)).toEqual([200, 429]);
  });

  it('gives a bucket at most one capacity of the new numbers, once for each change', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    expect(await statuses(http, '/bucket', 4)).toEqual([200, 200, 200, 429]);
    const target = { policy: 'api', identity: ADA };
    for (let i = 0; i < 2; i++) {
      await overrides.set(target, { capacity: 5 });
      // The same numbers once more are the same bucket.
      expect(await statuses(http, '/bucket', 6)).toEqual(i === 0 ? [200, 200, 200, 200, 200, 429] : Array(6).fill(429));
      await overrides.remove(target);
      expect(await statuses(http, '/bucket', 1)).toEqual([429]);
    }
  });

  it('exempts a client from one policy of several', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'one', identity: ADA }, { exempt: true });
    await overrides.set({ policy: 'two', identity: ADA }, { limit: 5 });
    expect(await statuses(http, '/both', 6)).toEqual([200, 200, 200, 200, 200, 429]);
    await overrides.set({ policy: 'two', identity: ADA }, { exempt: true });
    const reply = await http.as('ada', '/both');
    expect(reply.status).toBe(200);
    expect(Object.keys(reply.headers).filter((name) => name.includes('ratelimit'))).toEqual([]);
    // Nothing was charged for the exempt policy.
    await overrides.remove({ policy: 'one', identity: ADA });
    expect(left(await http.as('ada', '/both'))).toBe(2);
    const { overridden, sources } = http.app.get(RateLimiter).stats();
    expect(overridden).toEqual({ changed: 6, exempt: 9, blocked: 0 });
    expect(sources).toMatchObject({ override: 1 });
  });

  it('blocks a client without charging another policy', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'two', identity: ADA }, { blocked: true });
    const forever = await http.as('ada', '/both');
    expect(forever.status).toBe(429);
    expect(forever.headers).not.toHaveProperty('retry-after');
    await overrides.set({ policy: 'two', identity: ADA }, { blocked: true }, { expiresIn: '1h' });
    const blocked = await http.as('ada', '/both');
    expect([blocked.status, blocked.headers['retry-after']]).toEqual([429, '3600']);
    expect((blocked.body as RateLimitExceededBody).policy).toBe('two');
    await overrides.remove({ policy: 'two', identity: ADA });
    expect(left(await http.as('ada', '/both'))).toBe(2);
    const { policies, overridden, rejected } = http.app.get(RateLimiter).stats();
    expect([overridden.blocked, rejected]).toEqual([2, 2]);
    const tally = (name: string) => policies.find(({ policy }) => policy === name);
    expect(tally('two')).toMatchObject({ requests: 3, rejected: 2, allowed: 1 });
    expect(tally('one')).toMatchObject({ requests: 1, rejected: 0, allowed: 1 });
  });

  it('is obeyed by RateLimiter and by peeks', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    const limiter = http.app.get(RateLimiter);
    await limiter.consume('coded', ADA); // its charge is kept for the next one
    await overrides.set({ policy: 'coded', identity: ADA }, { blocked: true }, { expiresIn: '1m' });
    const blocked = await limiter.consume('coded', ADA);
    expect(blocked).toMatchObject({ allowed: false, decidedBy: 'override', policies: [{ remaining: 0, limit: 3 }] });
    expect(blocked.retryAfterMs).toBeLessThanOrEqual(60_000);
    expect(blocked.retryAfterMs).toBeGreaterThan(50_000);
    expect((await limiter.peek('coded', ADA)).allowed).toBe(false);
    expect((await limiter.peek('coded', BOB)).policies[0]!.remaining).toBe(3);
    await overrides.set({ policy: 'coded', identity: ADA }, { exempt: true });
    expect(await limiter.consume('coded', ADA)).toMatchObject({ allowed: true, policies: [], retryAfterMs: 0 });
    await overrides.set({ policy: 'api', identity: ADA }, { capacity: 7 });
    expect((await limiter.peekRoute(Routes, 'bucket', ADA))!.policies[0]!.remaining).toBe(7);
  });

  it('survives reset, which clears the changed bucket', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    const limiter = http.app.get(RateLimiter);
    await http.as('ada', '/bucket');
    const target = { policy: 'api', identity: ADA };
    await overrides.set(target, { capacity: 5 });
    await statuses(http, '/bucket', 6);
    await limiter.reset('coded', ADA);
    await limiter.resetRoute(Routes, 'bucket', ADA);
    expect(left(await http.as('ada', '/bucket'))).toBe(4);
    expect(await overrides.get(target)).toMatchObject({ change: { capacity: 5 } });
    await overrides.remove(target);
    expect(left(await http.as('ada', '/bucket'))).toBe(2); // the policy's own bucket was cleared as well
  });

  it('changes a policy that counts all clients together, and one scope of a policy', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'all' }, { capacity: 2 });
    expect(await statuses(http, '/all', 2)).toEqual([200, 200]);
    expect(await statuses(http, '/all', 1, 'bob')).toEqual([429]);
    await overrides.set({ policy: 'api', identity: ADA }, { blocked: true });
    await overrides.set({ policy: 'api', identity: ADA, scope: 'GET /bucket' }, { capacity: 1 });
    expect(await statuses(http, '/bucket', 2)).toEqual([200, 429]);
  });

  it('delays by the numbers of an override', async () => {
    await using http = await service();
    await http.app.get(RateLimitOverrides).set({ policy: 'queue', identity: ADA }, { drain: 10 });
    const since = performance.now();
    const replies = await Promise.all([1, 2, 3].map(() => http.as('ada', '/queue')));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(performance.now() - since).toBeGreaterThan(190);
  });

  it('refuses what would stop the boot, with the same words', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    const target = { policy: 'api', identity: ADA };
    const refused = async (change: unknown, problem: string, to: unknown = target, more?: unknown) =>
      expect(overrides.set(to as typeof target, change as { capacity: number }, more as object)).rejects.toThrow(
        problem,
      );
    await refused(
      { capacity: 0 },
      `RateLimitOverrides.set, policy 'api' of GET /bucket: capacity must be a whole number from 1 to`,
    );
    await refused({ limit: 5 }, `'limit' is not an option of token-bucket (got 5). The options are capacity, refill`);
    await refused({}, 'the numbers must be an object with some of those in { capacity: 3');
    await refused(5, 'a change must be an object such as { capacity: 100 } or { blocked: true }, got 5');
    await refused({ exempt: false }, 'or { blocked: true }, got { exempt: false }');
    await refused({ blocked: true, capacity: 5 }, 'got { blocked: true, capacity: 5 }');
    const names = `'coded', 'api', 'daily', 'one', 'two', 'all', 'queue'`;
    await refused(
      { capacity: 5 },
      `there is no policy named 'apy'. Did you mean 'api'? The application's policies are ${names}`,
      {
        ...target,
        policy: 'apy',
      },
    );
    await refused({ capacity: 5 }, `has no scope 'GET /': its scopes are 'GET /bucket'`, { ...target, scope: 'GET /' });
    await refused({ capacity: 5 }, `identity is missing: policy 'api' counts each client for itself`, {
      policy: 'api',
    });
    await refused({ capacity: 5 }, `(by: 'global'): leave identity out`, { ...target, policy: 'all' });
    await refused({ capacity: 5 }, `an identity: its kind must be`, {
      policy: 'api',
      identity: { kind: 'A', value: 'x' },
    });
    await refused({ capacity: 5 }, `'who' is not an option. The options are policy, identity, scope`, {
      ...target,
      who: 1,
    });
    await refused(
      { capacity: 5 },
      `expiresIn must be milliseconds or a duration such as '24h', from 1 s to 100 years, got 60`,
      target,
      { expiresIn: 60 },
    );
    await refused({ capacity: 5 }, 'ifVersion must be a whole number from 0, got -1', target, { ifVersion: -1 });
    await refused({ capacity: 5 }, 'reason must be text of up to 500 characters', target, { reason: 'x'.repeat(501) });
    expect((await overrides.list()).items).toEqual([]);
    expect((await overrides.history()).items).toEqual([]);
  });

  it('lists in pages, and remembers who changed what', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    const versions: number[] = [];
    for (let i = 0; i < 7; i++) {
      const identity = { kind: 'user', value: `u${i}` };
      versions.push(
        (await overrides.set({ policy: 'api', identity }, { capacity: 10 + i }, { author: 'eve', reason: `r${i}` }))
          .version,
      );
    }
    expect(versions).toEqual([...new Set(versions)].toSorted((a, b) => a - b));
    const seen: string[] = [];
    const sizes: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await overrides.list({ cursor, limit: 3 });
      sizes.push(page.items.length);
      seen.push(...page.items.map(({ identity }) => identity!));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect([seen, sizes]).toEqual([['u0', 'u1', 'u2', 'u3', 'u4', 'u5', 'u6'].map((u) => `user:${u}`), [3, 3, 1]]);

    const target = { policy: 'api', identity: 'user:u3' }; // an identity's tag stands for it
    expect(await overrides.remove(target, { author: 'mia', reason: 'over' })).toBe(true);
    expect(await overrides.remove(target)).toBe(false);
    expect(await overrides.get(target)).toBeUndefined();
    const { items } = await overrides.history(target);
    expect(items).toEqual([
      expect.objectContaining({ action: 'removed', author: 'mia', reason: 'over', change: undefined }),
      expect.objectContaining({
        action: 'set',
        author: 'eve',
        reason: 'r3',
        change: { capacity: 13 },
        version: versions[3],
      }),
    ]);
    const first = await overrides.history(undefined, { limit: 2 });
    expect(first.items.map(({ identity, action }) => `${identity} ${action}`)).toEqual([
      'user:u3 removed',
      'user:u6 set',
    ]);
    const rest = await overrides.history(undefined, { cursor: first.cursor, limit: 100 });
    expect([rest.items.length, rest.cursor]).toEqual([6, undefined]);
  });

  it('lets one of 20 writers win each version', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    const target = { policy: 'api', identity: ADA };
    let version = 0;
    for (let round = 0; round < 5; round++) {
      const writes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) =>
          i % 4 === 3 && round > 0
            ? overrides.remove(target, { ifVersion: version })
            : overrides.set(target, { capacity: 10 + i }, { ifVersion: version }),
        ),
      );
      const lost = writes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
      expect(lost).toHaveLength(19);
      const current = (await overrides.get(target))?.version ?? 0;
      for (const { reason } of lost) {
        expect(reason).toBeInstanceOf(OverrideConflictError);
        expect(reason).toMatchObject({ expectedVersion: version, actualVersion: current });
        expect((reason as Error).message).toContain(version === 0 ? 'ifVersion 0' : `expected version ${version}`);
      }
      version = current;
    }
  });
});

it('ends by the clock of a store that a test drives', async () => {
  const clock = new VirtualClock();
  await using http = await limited('Express', Routes, { identity: FROM_HEADERS, store: new VirtualStore(clock) });
  const overrides = http.app.get(RateLimitOverrides);
  const target = { policy: 'daily', identity: ADA };
  await overrides.set(target, { limit: 1_000 }, { expiresIn: '24h' });
  await overrides.set({ ...target, policy: 'api' }, { blocked: true }, { expiresIn: '24h' });
  const limit = async (): Promise<unknown> => (await http.as('ada', '/window')).headers['x-ratelimit-limit'];
  clock.advanceMs(24 * 3_600_000 - 1);
  expect(await limit()).toBe('1000');
  expect((await http.as('ada', '/bucket')).headers['retry-after']).toBe('1');
  expect(await overrides.get(target)).toMatchObject({ change: { limit: 1_000 } });
  clock.advanceMs(1);
  expect(await limit()).toBe('3');
  expect((await http.as('ada', '/bucket')).status).toBe(200);
  expect([await overrides.get(target), (await overrides.list()).items]).toEqual([undefined, []]);
  expect(http.app.get(RateLimiter).stats().overrides).toEqual({ count: 0, loaded: true });
});

it('is obeyed by the middleware, which charges a request before its route does', async () => {
  await using http = await limited('Express', Routes, {
    identity: FROM_HEADERS,
    policies: { gate: { algorithm: 'fixed-window', limit: 1, window: '300d' } },
    middleware: ['gate'],
  });
  const overrides = http.app.get(RateLimitOverrides);
  const statuses = async (): Promise<number[]> => [
    (await http.as('ada', '/bucket')).status,
    (await http.as('ada', '/bucket')).status,
  ];
  expect(await statuses()).toEqual([200, 429]);
  await overrides.set({ policy: 'gate', identity: ADA }, { exempt: true });
  expect(await statuses()).toEqual([200, 200]);
  await overrides.set({ policy: 'gate', identity: ADA }, { blocked: true });
  expect(await statuses()).toEqual([429, 429]);
});

describe('with Redis', () => {
  beforeEach(() => redis.client.flushall());

  it('keeps all of its keys under the prefix, in one slot', async () => {
    await using http = await limited('Express', Routes, {
      identity: FROM_HEADERS,
      redis: redis.server.url,
      keyPrefix: 'mine',
    });
    await http.app.get(RateLimitOverrides).set({ policy: 'api', identity: ADA }, { capacity: 5 }, { expiresIn: '1h' });
    const keys = await redis.client.keys('*overrides*');
    expect(keys.toSorted()).toEqual(
      ['changes', 'ends', 'records', 'version', 'versions'].map((k) => `mine:{overrides}:${k}`),
    );
  });
});
