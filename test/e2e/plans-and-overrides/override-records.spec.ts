import { describe, expect, it } from '@jest/globals';
import { OverrideConflictError, RateLimitOverrides } from 'nestjs-floodgate';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';
import { ADA, serviceOf } from '../support/overridden-routes.js';

const redis = useRedis();

describe.each(KINDS)('overrides over $platform with $store', (kind) => {
  const service = () => serviceOf(kind.platform, storeOf(kind, redis));

  it('refuses what would stop the boot, with the same words', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    const target = { policy: 'api', identity: ADA };
    const global = { ...target, policy: 'all' };
    for (const [to, change, more, problem] of [
      [target, { capacity: -1 }, {}, `RateLimitOverrides.set, policy 'api' of GET /bucket: capacity must be a whole`],
      [target, { limit: 5 }, {}, `'limit' is not an option of token-bucket (got 5). The options are capacity, refill`],
      [target, {}, {}, 'the numbers must be an object with some of those in { capacity: 3'],
      [target, { blocked: true, capacity: 5 }, {}, 'got { blocked: true, capacity: 5 }'],
      [{ ...target, policy: 'apy' }, { capacity: 5 }, {}, `there is no policy named 'apy'. Did you mean 'api'?`],
      [{ ...target, scope: 'GET /' }, { capacity: 5 }, {}, `has no scope 'GET /': its scopes are 'GET /bucket'`],
      [{ policy: 'api' }, { capacity: 5 }, {}, `identity is missing: policy 'api' counts each client for itself`],
      [global, { capacity: 5 }, {}, `(by: 'global'): leave identity out`],
      [target, { capacity: 5 }, { expiresIn: 60 }, `from 1 s to 100 years, got 60`],
      [target, { capacity: 5 }, { ifVersion: -1 }, 'ifVersion must be a whole number from 0, got -1'],
      [target, { capacity: 5 }, { reason: 'x'.repeat(501) }, 'reason must be text of up to 500 characters'],
    ] as const) {
      await expect(overrides.set(to, change as { capacity: number }, more)).rejects.toThrow(problem);
    }
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
