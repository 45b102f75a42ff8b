import { distinctKeys, openLimiter } from '../floodgate.js';
import { measure, ratio } from '../measure.js';
import { decisionsTable } from '../table.js';

const KEYS = 10_000;
const TOKEN_BUCKET = 'token-bucket';
const LOG = 'sliding-window-log';
const COUNTER = 'sliding-window-counter';

// Limits that nobody reaches, and state that stays alive; a key of the log holds what a second brings it.
const POLICIES = {
  [TOKEN_BUCKET]: { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 },
  'leaky-bucket': { algorithm: 'leaky-bucket', capacity: 1_000_000, drain: 10 },
  'fixed-window': { algorithm: 'fixed-window', limit: 1_000_000, window: '1h' },
  [COUNTER]: { algorithm: 'sliding-window-counter', limit: 1_000_000, window: '1h' },
  [LOG]: { algorithm: 'sliding-window-log', limit: 1_000, window: '1s' },
};

export const algorithms = {
  ratios: ['algorithms.log.redisCpu', 'algorithms.counter.redisCpu'],
  async run(bench) {
    // A deadline that a busy machine keeps: CPU is measured, not time.
    const limiter = await openLimiter(bench, { redis: bench.url, policies: POLICIES, deadline: '1s' });
    const names = Object.keys(POLICIES);
    const samples = await measure(
      names.map((name) => distinctKeys(limiter, name, KEYS, name)),
      { inFlight: 512, bench },
    );
    const cost = (name) => ratio(samples.get(name), samples.get(TOKEN_BUCKET), 'redis');
    return {
      ratios: { 'algorithms.log.redisCpu': cost(LOG), 'algorithms.counter.redisCpu': cost(COUNTER) },
      tables: [decisionsTable('Algorithms: 10,000 users, 512 in flight', samples, TOKEN_BUCKET)],
    };
  },
};
