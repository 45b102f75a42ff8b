import { once } from 'node:events';
import { Redis } from 'ioredis';
import { RateLimiterRedis, type RateLimiterRes, RateLimiterUnion } from 'rate-limiter-flexible';
import type { Adapter } from '../adapter.js';

export default {
  name: 'rate-limiter-flexible',
  packages: ['rate-limiter-flexible', 'ioredis'],
  definition: 'window',
  note: 'Several limits by RateLimiterUnion.',
  offers: {
    limit: 'README: All operations in memory or distributed environment use atomic increments against race conditions.',
    shared:
      'README: All operations in memory or distributed environment use atomic increments against race conditions.',
    cost: 'README: consume(key, points = 1) Consume points by key.',
    'retry-after': 'README: msBeforeNext: Number of milliseconds before next action can be done',
  },
  create: async ({ redisUrl, limits }) => {
    const storeClient = new Redis(redisUrl, { enableOfflineQueue: false });
    storeClient.on('error', () => undefined);
    await once(storeClient, 'ready');
    const all = limits.map(({ limit: points, windowMs }, i) => {
      return new RateLimiterRedis({ storeClient, points, duration: windowMs / 1_000, keyPrefix: `limit-${i}` });
    });
    const limiter = all.length === 1 ? all[0]! : new RateLimiterUnion(...all);
    const reject = (said: RateLimiterRes | Error): { allowed: false; retryAfterMs: number } => {
      if (said instanceof Error) throw said;
      return { allowed: false, retryAfterMs: said.msBeforeNext };
    };
    return { consume: (key, cost) => limiter.consume(key, cost).then(() => ({ allowed: true }), reject) };
  },
} satisfies Adapter as Adapter;
