import { expect, it, jest } from '@jest/globals';
import { type Policy, RateLimiter, RateLimitModule, RateLimitOverrides, TooManyOverridesError } from 'nestjs-floodgate';
import { until } from '../support/faults/until.js';
import { start } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';

jest.setTimeout(300_000); // 100,000 calls, on a machine that may be busy

const API: Policy = { name: 'api', algorithm: 'token-bucket', capacity: 3, refill: '1/h' };
const MOST = 100_000;
const CHUNK = 2_000;

const redis = useRedis();

it('keeps 100,000 overrides and refuses the next one; a pod reads them all when it starts', async () => {
  const boot = () =>
    start('Express', {
      imports: [RateLimitModule.forRoot({ redis: redis.server.url, policies: { api: API }, deadline: 10_000 })],
    });
  await using one = await boot();
  const overrides = one.app.get(RateLimitOverrides);
  const target = (i: number) => ({ policy: 'api', identity: { kind: 'user', value: `tenant-${i}` } });
  for (let i = 0; i < MOST; i += CHUNK) {
    const sets = Array.from({ length: CHUNK }, (_, j) =>
      overrides.set(target(i + j), { capacity: 4 + ((i + j) % 50) }),
    );
    await Promise.all(sets);
  }
  await expect(overrides.set(target(MOST), { capacity: 5 })).rejects.toThrow(TooManyOverridesError);
  await expect(overrides.set(target(MOST), { capacity: 5 })).rejects.toThrow(/^There are 100000 overrides/);

  const before = process.memoryUsage().heapUsed;
  await using two = await boot();
  const limiter = two.app.get(RateLimiter);
  await until('the pod has read them', 120_000, () => limiter.stats().overrides.count === MOST);
  globalThis.gc?.();
  expect((process.memoryUsage().heapUsed - before) / MOST).toBeLessThan(2_000); // bytes for each
  const { policies } = await limiter.peek('api', target(MOST - 1).identity);
  expect(policies[0]!.limit).toBe(4 + ((MOST - 1) % 50));
});
