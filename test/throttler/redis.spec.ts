import { expect, it } from '@jest/globals';
import type { OnStoreFailure } from 'nestjs-floodgate';
import type { ThrottlerOptions } from 'nestjs-floodgate/throttler';
import type { HttpApp } from '../support/http-app.js';
import { useRedis } from '../support/redis-fixture.js';
import { throttled } from './support/throttled.js';

function pod(
  redis: string,
  throttlers: ThrottlerOptions[],
  onStoreFailure: OnStoreFailure = 'local',
  deadline = 10_000,
): Promise<HttpApp> {
  return throttled({ throttlers, redis, onStoreFailure, deadline });
}

const redis = useRedis();

it('shares hits and blocks among pods, exactly', async () => {
  const throttlers = [{ limit: 7, ttl: 60_000, blockDuration: 120_000 }];
  await using one = await pod(redis.server.url, throttlers);
  await using two = await pod(redis.server.url, throttlers);
  const counts = await Promise.all([one.crowd(20, '/one'), two.crowd(20, '/one')]);
  expect(counts.reduce((sum, { 200: passed = 0 }) => sum + passed, 0)).toBe(7);
  for (const app of [one, two]) {
    const rejected = await app.send('/one');
    expect(rejected.status).toBe(429);
    // Less what has passed of the block.
    expect(Number(rejected.headers['retry-after'])).toBeCloseTo(120, -2);
  }
});

it('forgets the hits after a block that is shorter than the ttl', async () => {
  await using app = await pod(redis.server.url, [{ limit: 2, ttl: 600_000, blockDuration: 599_000 }]);
  const send = async (): Promise<number> => (await app.send('/one')).status;
  expect([await send(), await send(), await send()]).toEqual([200, 200, 429]);
  // The hits are gone already: without the block, a client starts afresh.
  const keys = await redis.client.keys('*');
  expect(new Set(keys.map((key) => key.split(':').at(-3)))).toEqual(new Set(['default block', 'default period']));
  await redis.client.del(keys.find((key) => key.includes('block'))!);
  await using other = await pod(redis.server.url, [{ limit: 2, ttl: 600_000, blockDuration: 599_000 }]);
  expect((await other.send('/one')).status).toBe(200);
});
