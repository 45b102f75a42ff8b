import { distinctKeys, identities, late, openLimiter, passed } from '../floodgate.js';
import { measure, ratio, verify } from '../measure.js';
import { decisionsTable, IN_PROCESS } from '../table.js';

const KEYS = 10_000;
/** Clients far over their limits: many, so that none reaches `MANY` rejections. */
const REFUSED = 1_000;
const MANY = 1_000_000;
const BUCKET = { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 };
const EMPTY = { algorithm: 'token-bucket', capacity: 1, refill: '1/h' };
const POLICIES = {
  bucket: BUCKET,
  guarded: { ...BUCKET, blockFor: '10m' },
  empty: EMPTY,
  blocking: { ...EMPTY, blockFor: '10m' },
  counting: { ...EMPTY, blockFor: '10m', blockAfter: MANY },
};
const PLAIN = 'without blockFor';
const GUARDED = 'with blockFor';
const COUNTING = 'with blockFor and blockAfter, before the block';

/** What a policy with `blockFor` costs: clients that it never rejects, and those that it does. */
export const blockFor = {
  ratios: ['blockFor.nodeCpu', 'blockFor.redisCpu', 'blockFor.memory', 'blockFor.refused', 'blockFor.counting'],
  async run(bench) {
    const redis = await allowed(bench, { redis: bench.url }, 512);
    const memory = await allowed(bench, {}, 1);
    const rejected = await refused(bench);
    const cost = (samples, figure, name = GUARDED) => ratio(samples.get(name), samples.get(PLAIN), figure);
    return {
      ratios: {
        'blockFor.nodeCpu': cost(redis, 'node'),
        'blockFor.redisCpu': cost(redis, 'redis'),
        'blockFor.memory': cost(memory, 'node'),
        'blockFor.refused': cost(rejected, 'node'),
        'blockFor.counting': cost(rejected, 'node', COUNTING),
      },
      tables: [
        decisionsTable('blockFor, nobody refused, on Redis: 10,000 users, 512 in flight', redis, PLAIN),
        decisionsTable('blockFor, nobody refused, in the process: 10,000 users', memory, PLAIN, IN_PROCESS),
        decisionsTable('blockFor, all refused, on Redis: 1,000 users, 512 in flight', rejected, PLAIN),
      ],
    };
  },
};

async function allowed(bench, store, inFlight) {
  const limiter = await openLimiter(bench, { ...store, policies: POLICIES, deadline: '1s' });
  await proveBlock(limiter);
  const contestants = [distinctKeys(limiter, 'bucket', KEYS, PLAIN), distinctKeys(limiter, 'guarded', KEYS, GUARDED)];
  return measure(contestants, { inFlight, bench });
}

async function refused(bench) {
  const limiter = await openLimiter(bench, { redis: bench.url, policies: POLICIES, deadline: '1s' });
  const users = identities(REFUSED);
  const contestant = (name, policy, isBlocked) => ({
    name,
    ask: (i) => limiter.consume(policy, users[i % REFUSED]),
    right: (decision) => decision.allowed === false && (decision.policies[0].blockedForMs !== undefined) === isBlocked,
    late,
  });
  const contestants = [
    contestant(PLAIN, 'empty', false),
    contestant(GUARDED, 'blocking', true),
    contestant(COUNTING, 'counting', false),
  ];
  // The limit, and the rejection that begins the block.
  for (const { ask } of contestants) {
    for (let times = 0; times < 2; times++) await Promise.all(users.map((_, i) => ask(i)));
  }
  return measure(contestants, { inFlight: 512, bench });
}

/** The first request passes, the second one is rejected, and begins the block that the third one meets. */
async function proveBlock(limiter) {
  const [identity] = identities(1);
  const decisions = [];
  for (let i = 0; i < 3; i++) decisions.push(await limiter.consume('blocking', identity));
  verify(
    passed(decisions[0]) && !decisions[1].allowed && decisions[2].policies[0].blockedForMs > 0,
    'no block has begun',
  );
}
