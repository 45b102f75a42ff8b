import Bottleneck from 'bottleneck';
import { Redis } from 'ioredis';
import type { Adapter } from '../adapter.js';

export default {
  name: 'bottleneck',
  packages: ['bottleneck', 'ioredis'],
  definition: 'window',
  note: 'With a reservoir, and highWater 0: a job that would wait is rejected. Windows of 5 s, as its documentation wants.',
  // README: "a multiple of 250 (5000 for Clustering)".
  windowMs: 5_000,
  offers: {
    limit: 'README: reservoir: How many jobs can be executed before the limiter stops executing jobs.',
    shared:
      'README: Changes to the state are Atomic, Consistent and Isolated ... to eliminate any chances of race conditions',
    cost: 'README: weight ... decreases the `reservoir` value.',
    'zero-cost': 'README: weight: Must be an integer equal to or higher than 0.',
    expiry:
      "README: timeout: the limiter's state will be automatically removed from Redis after `timeout` milliseconds of inactivity.",
  },
  lacks: ['retry-after', 'several'],
  create: ({ redisUrl, limit, windowMs }) => {
    const connection = new Bottleneck.IORedisConnection({ client: new Redis(redisUrl) });
    connection.on('error', () => undefined);
    const limiters = new Bottleneck.Group({
      id: 'trial',
      connection,
      timeout: 2 * windowMs,
      reservoir: limit,
      reservoirRefreshAmount: limit,
      reservoirRefreshInterval: windowMs,
      highWater: 0,
      strategy: Bottleneck.strategy.OVERFLOW,
    });
    limiters.on('error', () => undefined);
    const reject = (error: Error): { allowed: false } => {
      if (error instanceof Bottleneck.BottleneckError && /dropped/.test(error.message)) return { allowed: false };
      throw error;
    };
    const job = () => Promise.resolve({ allowed: true });
    return { consume: (key, weight) => limiters.key(key).schedule({ weight }, job).catch(reject) };
  },
} satisfies Adapter as Adapter;
