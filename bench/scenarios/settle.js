import { distinctKeys, identities, late, openLimiter } from '../floodgate.js';
import { loadHttp, openHttp } from '../http/contestant.js';
import { inTurn, measure, ratio, verify } from '../measure.js';
import { decisionsTable, HTTP_ON_REDIS, httpTable, IN_PROCESS } from '../table.js';

const KEYS = 10_000;
const POLICIES = {
  // Slow enough that the refill has not paid a reservation off before it is settled.
  bucket: { algorithm: 'token-bucket', capacity: 1_000_000, refill: '1000/h' },
  proof: { algorithm: 'token-bucket', capacity: 10, refill: '1/h' },
};
const CONSUMED = 'consume';
const LESS = 'reserve 3, settle 1';
const SAME = 'reserve 3, settle 3';
const PLAIN = 'no countIf';
const COUNTED = 'countIf, which refunds nothing';
const REFUNDED = 'countIf, which refunds each request';

/** What a settlement costs: a second question to the store, where the final cost is another one. */
export const settle = {
  ratios: ['settle.nodeCpu', 'settle.redisCpu', 'settle.memory', 'settle.http', 'settle.httpRefunded'],
  async run(bench) {
    const redis = await measured(bench, { redis: bench.url }, 512);
    const memory = await measured(bench, {}, 1);
    const http = await overHttp(bench);
    const cost = (samples, figure) => ratio(samples.get(LESS), samples.get(CONSUMED), figure);
    return {
      ratios: {
        'settle.nodeCpu': cost(redis, 'node'),
        'settle.redisCpu': cost(redis, 'redis'),
        'settle.memory': cost(memory, 'node'),
        'settle.http': ratio(http.get(COUNTED), http.get(PLAIN), 'cpu'),
        'settle.httpRefunded': ratio(http.get(REFUNDED), http.get(PLAIN), 'cpu'),
      },
      tables: [
        decisionsTable('Settlements, on Redis: 10,000 users, 512 in flight', redis, CONSUMED),
        decisionsTable('Settlements, in the process: 10,000 users', memory, CONSUMED, IN_PROCESS),
        httpTable('countIf, Nest on Fastify and Redis: 10,000 users, 64 connections', http, PLAIN, HTTP_ON_REDIS),
      ],
    };
  },
};

async function measured(bench, store, inFlight) {
  const limiter = await openLimiter(bench, { ...store, policies: POLICIES, deadline: '1s' });
  await proveRefund(limiter);
  const users = identities(KEYS);
  const settled = (name, cost, isRight) => ({
    name,
    ask: async (i) => (await limiter.reserve('bucket', users[i % KEYS], { cost: 3 })).settle(cost),
    right: ({ settledBy, policies }) => settledBy === 'store' && isRight(policies[0].refunded),
    // A settlement that misses the deadline does not reject.
    late: (answer) => late(answer) || answer.error !== undefined,
  });
  const contestants = [
    distinctKeys(limiter, 'bucket', KEYS, CONSUMED),
    settled(LESS, 1, (refunded) => refunded > 0 && refunded <= 2),
    settled(SAME, 3, (refunded) => refunded === 0),
  ];
  return measure(contestants, { inFlight, bench });
}

/** Of a bucket of 10, a reservation of 8 that is settled at 2 leaves 8. */
async function proveRefund(limiter) {
  const [identity] = identities(1);
  const reservation = await limiter.reserve('proof', identity, { cost: 8 });
  const before = await limiter.peek('proof', identity);
  await reservation.settle(2);
  const after = await limiter.peek('proof', identity);
  const left = [before, after].map(({ policies }) => policies[0].remaining);
  verify(left.join() === '2,8', `a reservation of 8 settled at 2 left ${left.join(', then ')} of 10`);
}

async function overHttp(bench) {
  const counted = ({ outcomes }) => outcomes;
  const variants = [
    { name: PLAIN, variant: 'floodgate' },
    { name: COUNTED, variant: 'counted', counted },
    { name: REFUNDED, variant: 'refunded', counted, users: 1_000 }, // who would soon be rejected without refunds
  ];
  const contestants = await Promise.all(variants.map((variant) => openHttp(bench, 'fastify', variant)));
  return inTurn(contestants, bench, loadHttp);
}
