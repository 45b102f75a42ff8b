import { expect, it, jest } from '@jest/globals';
import { type Policy, RateLimiter, RateLimitModule, RateLimitOverrides } from 'nestjs-floodgate';
import { useCluster } from '../support/faults/cluster-fixture.js';
import { until } from '../support/faults/until.js';
import { start } from '../support/http-app.js';

jest.setTimeout(60_000);

const API: Policy = { name: 'api', algorithm: 'token-bucket', capacity: 3, refill: '1/h' };
const ALL: Policy = { name: 'all', algorithm: 'fixed-window', limit: 100, window: '300d', by: 'global' };

const fixture = useCluster();

it('keeps overrides in one slot of a Cluster, and every pod obeys', async () => {
  const boot = () =>
    start('Express', {
      imports: [RateLimitModule.forRoot({ redis: fixture.client, deadline: 1_000, policies: { api: API, all: ALL } })],
    });
  await using one = await boot();
  await using two = await boot();
  const users = Array.from({ length: 20 }, (_, i) => ({ kind: 'user', value: `u${i}` }));
  const overrides = one.app.get(RateLimitOverrides);
  await Promise.all(users.map((identity, i) => overrides.set({ policy: 'api', identity }, { capacity: 10 + i })));
  await overrides.set({ policy: 'all' }, { limit: 7 });
  const limiter = two.app.get(RateLimiter);
  await until('the other pod obeys', 5000, async () => (await limiter.peek('all', users[0]!)).policies[0]!.limit === 7);
  for (const [i, user] of users.entries()) {
    // In two slots: a cross-slot request obeys as well.
    const { policies, allowed } = await limiter.consume(['api', 'all'], user);
    expect(policies.map(({ limit }) => limit)).toEqual([10 + i, 7]);
    expect(allowed).toBe(i < 7);
  }
  expect((await two.app.get(RateLimitOverrides).list()).items).toHaveLength(21);
  expect(two.logs.of('warn')).toEqual([]);
});
