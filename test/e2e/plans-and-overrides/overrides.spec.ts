import { describe, expect, it } from '@jest/globals';
import { type RateLimitExceededBody, RateLimiter, RateLimitOverrides } from 'nestjs-floodgate';
import { asUser, FROM_HEADERS, left, limited } from '../../support/http-app.js';
import { VirtualClock, VirtualStore } from 'nestjs-floodgate/testing';
import { useRedis } from '../../support/redis-fixture.js';
import { KINDS, storeOf } from '../support/kinds.js';
import { ADA, BOB, Routes, serviceOf } from '../support/overridden-routes.js';

const redis = useRedis();

describe.each(KINDS)('overrides over $platform with $store', (kind) => {
  const service = () => serviceOf(kind.platform, storeOf(kind, redis));

  it('raises one client at once, and nobody else', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    expect(await http.statuses(4, '/bucket', asUser('ada'))).toEqual([200, 200, 200, 429]);
    const set = await overrides.set({ policy: 'api', identity: ADA }, { capacity: 5 }, { expiresIn: '24h' });
    // A denial from before is not cached beyond the change. A changed bucket begins full.
    expect(await http.statuses(6, '/bucket', asUser('ada'))).toEqual([200, 200, 200, 200, 200, 429]);
    expect(await http.statuses(4, '/bucket', asUser('bob'))).toEqual([200, 200, 200, 429]);
    expect(set).toMatchObject({ policy: 'api', identity: 'user:ada', scope: undefined, change: { capacity: 5 } });
    expect(set.expiresAtMs! - set.setAtMs).toBe(86_400_000);
    expect(Math.abs(set.setAtMs - Date.now())).toBeLessThan(5000);
  });

  it('gives a bucket at most one capacity of the new numbers, once for each change', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    expect(await http.statuses(4, '/bucket', asUser('ada'))).toEqual([200, 200, 200, 429]);
    const target = { policy: 'api', identity: ADA };
    for (let i = 0; i < 2; i++) {
      await overrides.set(target, { capacity: 5 });
      // Equal numbers use the bucket that is already there.
      expect(await http.statuses(6, '/bucket', asUser('ada'))).toEqual(
        i === 0 ? [200, 200, 200, 200, 200, 429] : Array(6).fill(429),
      );
      await overrides.remove(target);
      expect(await http.statuses(1, '/bucket', asUser('ada'))).toEqual([429]);
    }
  });

  it('exempts a client from one policy of several', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'one', identity: ADA }, { exempt: true });
    await overrides.set({ policy: 'two', identity: ADA }, { limit: 5 });
    expect(await http.statuses(6, '/both', asUser('ada'))).toEqual([200, 200, 200, 200, 200, 429]);
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
    expect(forever.body).toMatchObject({ message: 'The client is blocked', retry_after: null, policy: 'two' });
    await overrides.set({ policy: 'two', identity: ADA }, { blocked: true }, { expiresIn: '1h' });
    const blocked = await http.as('ada', '/both');
    expect([blocked.status, Number(blocked.headers['retry-after'])]).toEqual([429, expect.closeTo(3_600, -2)]);
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
    expect((await limiter.peek([Routes, 'bucket'], ADA)).policies[0]!.remaining).toBe(7);
  });

  it('changes a policy that counts all clients together, and one scope of a policy', async () => {
    await using http = await service();
    const overrides = http.app.get(RateLimitOverrides);
    await overrides.set({ policy: 'all' }, { capacity: 2 });
    expect(await http.statuses(2, '/all', asUser('ada'))).toEqual([200, 200]);
    expect(await http.statuses(1, '/all', asUser('bob'))).toEqual([429]);
    await overrides.set({ policy: 'api', identity: ADA }, { blocked: true });
    await overrides.set({ policy: 'api', identity: ADA, scope: 'GET /bucket' }, { capacity: 1 });
    expect(await http.statuses(2, '/bucket', asUser('ada'))).toEqual([200, 429]);
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
  clock.advance(24 * 3_600_000 - 1);
  expect(await limit()).toBe('1000');
  expect((await http.as('ada', '/bucket')).headers['retry-after']).toBe('1');
  expect(await overrides.get(target)).toMatchObject({ change: { limit: 1_000 } });
  clock.advance(1);
  expect(await limit()).toBe('3');
  expect((await http.as('ada', '/bucket')).status).toBe(200);
  expect([await overrides.get(target), (await overrides.list()).items]).toEqual([undefined, []]);
  expect(http.app.get(RateLimiter).stats().overrides).toEqual({ count: 0, loaded: true });
});
