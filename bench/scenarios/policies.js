import { distinctKeys, openLimiter } from '../floodgate.js';
import { measure, ratio } from '../measure.js';
import { decisionsTable } from '../table.js';

const KEYS = 10_000;
const IN_FLIGHT = 512;
const TOKEN_BUCKET = 'token-bucket';

// Limits that nobody reaches, and state that stays alive; a key of the log holds what a second brings it.
const POLICIES = {
  [TOKEN_BUCKET]: { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 },
  'leaky-bucket': { algorithm: 'leaky-bucket', capacity: 1_000_000, drain: 10 },
  'fixed-window': { algorithm: 'fixed-window', limit: 1_000_000, window: '1h' },
  'sliding-window-counter': { algorithm: 'sliding-window-counter', limit: 1_000_000, window: '1h' },
  'sliding-window-log': { algorithm: 'sliding-window-log', limit: 1_000, window: '1s' },
};

export const algorithms = {
  ratios: ['algorithms.redisCpu'],
  async run(bench) {
    const limiter = await openLimiter(bench, { redis: bench.url, policies: POLICIES });
    const names = Object.keys(POLICIES);
    const samples = await measure(
      names.map((name) => distinctKeys(limiter, name, KEYS, name)),
      { inFlight: IN_FLIGHT, bench },
    );
    const ratios = names
      .filter((name) => name !== TOKEN_BUCKET)
      .map((name) => ratio(samples.get(name), samples.get(TOKEN_BUCKET), 'redis'));
    return {
      ratios: { 'algorithms.redisCpu': ratios.toSorted((a, b) => b.median - a.median)[0] },
      tables: [decisionsTable('Algorithms: 10,000 users, 512 in flight', samples, TOKEN_BUCKET)],
    };
  },
};

export const policies2 = {
  ratios: ['policies2.redisCpu'],
  async run(bench) {
    const { [TOKEN_BUCKET]: bucket } = POLICIES;
    const limiter = await openLimiter(bench, {
      redis: bench.url,
      policies: { a: bucket, b: bucket, all: { ...bucket, by: 'global' } },
    });
    const contestants = [
      distinctKeys(limiter, 'a', KEYS, 'one policy'),
      distinctKeys(limiter, ['a', 'b'], KEYS, 'two policies'),
      distinctKeys(limiter, ['a', 'all'], KEYS, 'one, and one for everybody'),
    ];
    const samples = await measure(contestants, { inFlight: IN_FLIGHT, bench });
    return {
      ratios: { 'policies2.redisCpu': ratio(samples.get('two policies'), samples.get('one policy'), 'redis') },
      tables: [decisionsTable('Policies of a request: 10,000 users, 512 in flight', samples, 'one policy')],
    };
  },
};
