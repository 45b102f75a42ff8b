import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { OverrideConflictError, RateLimitOverrides } from 'nestjs-floodgate';
import { FROM_HEADERS, limited } from '../../support/http-app.js';
import { useRedis } from '../../support/redis-fixture.js';
import { ADA, overrideCases, Routes, serviceOf } from '../support/overridden-routes.js';

jest.setTimeout(20_000);

const redis = useRedis();

describe.each(overrideCases(() => redis.server.url))('overrides over %s with %s', (platform, _store, options) => {
  const service = () => serviceOf(platform, options());

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
