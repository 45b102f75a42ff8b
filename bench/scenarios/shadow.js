import { distinctKeys, openLimiter, passed, user } from '../floodgate.js';
import { counted, measure, ratio, verify } from '../measure.js';
import { decisionsTable, IN_PROCESS } from '../table.js';

const KEYS = 10_000;
const BUCKET = { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 };
const POLICIES = {
  plain: BUCKET,
  tried: { ...BUCKET, candidate: { capacity: 500_000 } },
  other: { ...BUCKET, capacity: 500_000 },
  proof: { algorithm: 'token-bucket', capacity: 10, refill: '1/h', candidate: { capacity: 5 } },
};
const PLAIN = 'a policy';
const SHADOW = 'the policy and its candidate';
const TWO = 'two policies';

/** What a shadow costs: a second charge in the same call. */
export const shadow = {
  ratios: ['shadow.nodeCpu', 'shadow.redisCpu', 'shadow.memory'],
  async run(bench) {
    const redis = await measured(bench, { redis: bench.url }, 512);
    const memory = await measured(bench, {}, 1);
    const cost = (samples, figure) => ratio(samples.get(SHADOW), samples.get(PLAIN), figure);
    return {
      ratios: {
        'shadow.nodeCpu': cost(redis, 'node'),
        'shadow.redisCpu': cost(redis, 'redis'),
        'shadow.memory': cost(memory, 'node'),
      },
      tables: [
        decisionsTable('Shadow, on Redis: 10,000 users, 512 in flight', redis, PLAIN),
        decisionsTable('Shadow, in the process: 10,000 users', memory, PLAIN, IN_PROCESS),
      ],
    };
  },
};

async function measured(bench, store, inFlight) {
  const limiter = await openLimiter(bench, { ...store, policies: POLICIES, deadline: '1s' });
  await proveCharges(limiter);
  const contestants = [
    distinctKeys(limiter, 'plain', KEYS, PLAIN),
    {
      ...distinctKeys(limiter, 'tried', KEYS, SHADOW),
      right: (decision) => passed(decision) && decision.shadow?.[0].allowed === true,
      ...counted('decided in shadow', () => decidedInShadow(limiter, 'tried.candidate')),
    },
    distinctKeys(limiter, ['plain', 'other'], KEYS, TWO),
  ];
  return measure(contestants, { inFlight, bench });
}

function decidedInShadow(limiter, name) {
  return limiter.stats().shadows.find(({ policy }) => policy === name)?.allowed ?? 0;
}

/** Of 8 requests the policy lets all pass. The candidate would have let 5 pass, so these were charged. */
async function proveCharges(limiter) {
  let fitting = 0;
  for (let i = 0; i < 8; i++) {
    const decision = await limiter.consume('proof', { kind: 'user', value: user(0) });
    verify(passed(decision), 'a shadow rejected a request');
    if (decision.shadow[0].allowed) fitting++;
  }
  verify(fitting === 5, `${fitting} of 8 requests fit a candidate of 5`);
}
