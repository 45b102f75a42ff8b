import { RateLimitOverrides } from 'nestjs-floodgate';
import { identities, late, openApplication, passed } from '../floodgate.js';
import { counted, finely, measure, ratio, verify } from '../measure.js';
import { decisionsTable, IN_PROCESS } from '../table.js';

const KEYS = 10_000;
const OVERRIDES = 10_000;
const RAISED = 2_000_000;
const POLICIES = { bucket: { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 } };
const NONE = 'no overrides';
const OTHERS = '10,000 overrides of other users';
const OWN = 'an override of each user';
/** Sets that are under way at once. */
const CHUNK = 500;

/** What clients without an override pay for those of others, which is one look-up in the process, and what those with one pay. */
export const overrides = {
  ratios: ['overrides.redis', 'overrides.memory', 'overrides.own'],
  async run(bench) {
    const redis = await measured(finely(bench), { redis: bench.url }, 512);
    const memory = await measured(finely(bench), {}, 1);
    const cost = (samples, name) => ratio(samples.get(name), samples.get(NONE), 'node');
    return {
      ratios: {
        'overrides.redis': cost(redis, OTHERS),
        'overrides.memory': cost(memory, OTHERS),
        'overrides.own': cost(redis, OWN),
      },
      tables: [
        decisionsTable('Overrides, on Redis: 10,000 users, 512 in flight', redis, NONE),
        decisionsTable('Overrides, in the process: 10,000 users', memory, NONE, IN_PROCESS),
      ],
    };
  },
};

async function measured(bench, store, inFlight) {
  // Prefixes of one length: keys cost what they are long.
  const options = { ...store, policies: POLICIES, deadline: '1s' };
  const { limiter: without } = await openApplication(bench, { ...options, keyPrefix: 'without' });
  const { limiter: others, app } = await openApplication(bench, { ...options, keyPrefix: 'withall' });
  const [plain, overridden] = [identities(KEYS), identities(OVERRIDES, KEYS)];
  const control = app.get(RateLimitOverrides);
  for (let i = 0; i < OVERRIDES; i += CHUNK) {
    const sets = overridden.slice(i, i + CHUNK).map((identity) => {
      return control.set({ policy: 'bucket', identity }, { capacity: RAISED });
    });
    await Promise.all(sets);
  }
  return measure(
    [
      { name: NONE, ...asking(without, plain), ...inForce(without, 0) },
      { name: OTHERS, ...asking(others, plain), ...inForce(others, OVERRIDES) },
      {
        name: OWN,
        ...asking(others, overridden),
        right: (decision) => passed(decision) && decision.policies[0].limit === RAISED,
        ...counted('decided by an override', () => others.stats().overridden.changed),
      },
    ],
    { inFlight, bench },
  );
}

/** A call that says its cost makes its charge anew, as a route does: so each decision looks for an override. */
function asking(limiter, users) {
  const options = { cost: 1 };
  return { ask: (i) => limiter.consume('bucket', users[i % users.length], options), right: passed, late };
}

function inForce(limiter, count) {
  return {
    after: () => {
      const { overrides: known, overridden } = limiter.stats();
      verify(known.count === count, `${known.count} overrides are in force, not ${count}`);
      verify(count > 0 || overridden.changed === 0, 'a user without an override had one');
    },
  };
}
