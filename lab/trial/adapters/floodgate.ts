import { createLimiter } from 'floodgate';
import type { Adapter } from '../adapter.js';

export default {
  name: 'Floodgate (createLimiter, closed)',
  packages: ['floodgate', 'ioredis'],
  definition: 'log',
  note: "With onStoreFailure 'closed' and a deadline of 500 ms: no process decides alone.",
  retryAfterUnitMs: 0.001,
  offers: {
    limit: 'README: Floodgate decides each request once, atomically, in Redis, for all of them',
    shared: 'README: Floodgate decides each request once, atomically, in Redis, for all of them',
    interval: 'README: sliding-window-log: limit in every window-long interval',
    cost: 'docs/policies.md: cost: what a request takes: a whole number',
    rejected: 'README: Rejected requests do not count.',
    'retry-after': 'docs/policies.md: exact to the microsecond: a retry one microsecond earlier is rejected',
    several: 'docs/policies.md: The policies are one atomic step: all are charged, or none.',
    'huge-cost': 'docs/policies.md: A cost that can never fit: At run time such a request is rejected',
    'zero-cost': 'docs/policies.md: Cost 0 is a peek',
    clock: 'docs/redis.md: With `clock: "redis"` (default) the processes\' clocks do not matter.',
    expiry: 'docs/redis.md: Every key expires by itself within a second of its state meaning nothing.',
    'script-flush': 'docs/failures.md: `NOSCRIPT`, with which Redis says that it ran nothing',
    restart: 'docs/failures.md: killed, restarted without its data: available as soon as it is connected',
    'read-only': 'docs/failures.md: demoted to a replica: answers as soon as Redis says so',
    hung: 'docs/failures.md: hangs: the first answer within 50 ms',
  },
  create: async ({ redisUrl, limits }) => {
    // No process decides alone. By default it does while Redis is late by 50 ms: see floodgate-guard.ts.
    const limiter = await createLimiter({ redis: redisUrl, onStoreFailure: 'closed', deadline: '500ms' });
    await limiter.start();
    const policies = limits.map(({ limit, windowMs }, i) => {
      return { name: `limit-${i}`, algorithm: 'sliding-window-log' as const, limit, window: windowMs };
    });
    return { consume: (key, cost) => limiter.consume(policies, { kind: 'user', value: key }, { cost }) };
  },
} satisfies Adapter as Adapter;
