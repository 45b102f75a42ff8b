import { RateLimitOverrides } from 'nestjs-floodgate';
import { distinctKeys, openApplication, user } from '../floodgate.js';
import { measure, ratio, verify } from '../measure.js';
import { decisionsTable, IN_PROCESS } from '../table.js';

const KEYS = 10_000;
const OVERRIDES = 10_000;
const POLICIES = { bucket: { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 } };
const NONE = 'no overrides';
const OTHERS = '10,000 overrides of other users';
/** Sets that are under way at once. */
const CHUNK = 500;

/** What clients without an override pay for those of others: one look-up in the process. */
export const overrides = {
  ratios: ['overrides.redis', 'overrides.memory'],
  async run(bench) {
    const redis = await measured(bench, { redis: bench.url }, 512);
    const memory = await measured(bench, {}, 1);
    const cost = (samples) => ratio(samples.get(OTHERS), samples.get(NONE), 'node');
    return {
      ratios: { 'overrides.redis': cost(redis), 'overrides.memory': cost(memory) },
      tables: [
        decisionsTable('Overrides, on Redis: 10,000 users, 512 in flight', redis, NONE),
        decisionsTable('Overrides, in the process: 10,000 users', memory, NONE, IN_PROCESS),
      ],
    };
  },
};

async function measured(bench, store, inFlight) {
  const without = await openApplication(bench, {
    ...store,
    policies: POLICIES,
    deadlineMs: 1_000,
    keyPrefix: 'without',
  });
  const others = await openApplication(bench, {
    ...store,
    policies: POLICIES,
    deadlineMs: 1_000,
    keyPrefix: 'withover',
  });
  const control = others.app.get(RateLimitOverrides);
  for (let i = 0; i < OVERRIDES; i += CHUNK) {
    const sets = Array.from({ length: CHUNK }, (_, j) =>
      control.set({ policy: 'bucket', identity: { kind: 'user', value: user(KEYS + i + j) } }, { capacity: 5 }),
    );
    await Promise.all(sets);
  }
  const inForce = (limiter, count) => ({
    after: () => {
      const { overrides: known } = limiter.stats();
      verify(known.count === count, `${known.count} overrides are in force, not ${count}`);
    },
  });
  return measure(
    [
      { ...distinctKeys(without.limiter, 'bucket', KEYS, NONE), ...inForce(without.limiter, 0) },
      { ...distinctKeys(others.limiter, 'bucket', KEYS, OTHERS), ...inForce(others.limiter, OVERRIDES) },
    ],
    { inFlight, bench },
  );
}
