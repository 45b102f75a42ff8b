import { Redis } from 'ioredis';
import type { Adapter } from '../adapter.js';

/** The control: a limiter that is wrong on purpose, as many are by mistake. The trial has to break it. */
export default {
  name: 'GET, then SET (control)',
  packages: [],
  definition: 'window',
  note: 'Wrong on purpose: the trial has to break it.',
  offers: { limit: 'a limit', shared: 'a limit in Redis' },
  lacks: ['several'],
  create: ({ redisUrl, limit, windowMs }) => {
    const redis = new Redis(redisUrl);
    return {
      consume: async (key, cost) => {
        const count = Number(await redis.get(key)) + cost;
        if (count > limit) return { allowed: false, retryAfterMs: await redis.pttl(key) };
        if (count === cost) await redis.set(key, count, 'PX', windowMs);
        else await redis.set(key, count, 'KEEPTTL');
        return { allowed: true };
      },
    };
  },
} satisfies Adapter as Adapter;
