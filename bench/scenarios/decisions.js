import { bareEvalsha, getSet, incr, rateLimiterFlexible, rateLimitRedis, throttlerRedis } from '../contestants.js';
import { distinctKeys, late, openLimiter, passed, redisKeyOf, user } from '../floodgate.js';
import { measure, ratio, verify } from '../measure.js';
import { redisCalls } from '../redis.js';
import { decisionsTable } from '../table.js';

const KEYS = 10_000;
const POLICIES = {
  // A refill slow enough that every key stays alive: what expires at once is cheaper than what is kept.
  distinct: { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 },
  hot: { algorithm: 'token-bucket', capacity: 100_000_000, refill: '1000/h' },
  exact: { algorithm: 'token-bucket', capacity: 20_000, refill: '1/h' },
};

/** Not what its README says, but what an ioredis user may try to share round trips: its keys are those of the other. */
const AUTO_PIPELINED = { name: 'rate-limiter-flexible, auto-pipelining', client: { enableAutoPipelining: true } };

async function open(bench) {
  const limiter = await openLimiter(bench, { redis: bench.url, policies: POLICIES });
  const { length } = await redisKeyOf(bench, limiter, 'distinct', user(0));
  return { limiter, length };
}

/** @param hasAllPeers whether those that have no ratio are measured, too */
function distinct(name, title, inFlight, figures, hasAllPeers = false) {
  return {
    ratios: Object.keys(figures).map((figure) => `${name}.${figure}`),
    async run(bench) {
      const { limiter, length } = await open(bench);
      const peer = { keys: KEYS, length };
      const contestants = [
        distinctKeys(limiter, 'distinct', KEYS),
        await rateLimiterFlexible(bench, peer),
        await bareEvalsha(bench, peer),
        await incr(bench, peer),
      ];
      if (hasAllPeers) {
        contestants.push(
          await rateLimiterFlexible(bench, { ...peer, ...AUTO_PIPELINED }),
          await rateLimitRedis(bench, peer),
          await throttlerRedis(bench, peer),
          await getSet(bench, peer),
        );
      }
      const samples = await measure(contestants, { inFlight, timed: inFlight === 1, bench });
      const [ours, peers] = [samples.get('Floodgate'), samples.get('rate-limiter-flexible')];
      return {
        ratios: Object.fromEntries(
          Object.entries(figures).map(([figure, key]) => [`${name}.${figure}`, ratio(ours, peers, key)]),
        ),
        tables: [decisionsTable(title, samples, 'Floodgate')],
      };
    },
  };
}

export const distinct512 = distinct(
  'distinct512',
  'Distinct keys: 10,000 users, token bucket, 512 in flight',
  512,
  { throughput: 'throughput', nodeCpu: 'node', redisCpu: 'redis' },
  true,
);

export const distinct64 = distinct('distinct64', 'Distinct keys: 10,000 users, token bucket, 64 in flight', 64, {
  throughput: 'throughput',
});

export const single = distinct('single', 'One at a time: 10,000 users, token bucket, 1 in flight', 1, {
  latency: 'latency',
});

/** Measures a pod with little to do: each request has a call of its own, and some calls are under way. */
export const singlePipelined = {
  ratios: ['single.redisCpu', 'single.nodeCpu'],
  async run(bench) {
    const { limiter, length } = await open(bench);
    const peer = { keys: KEYS, length };
    const contestants = [
      {
        ...distinctKeys(limiter, 'distinct', KEYS),
        ...calledFor(bench),
      },
      await rateLimiterFlexible(bench, peer),
      await bareEvalsha(bench, peer),
      await incr(bench, peer),
    ];
    const samples = await measure(contestants, { inFlight: 64, alone: true, bench });
    const [ours, peers] = [samples.get('Floodgate'), samples.get('rate-limiter-flexible')];
    return {
      ratios: { 'single.redisCpu': ratio(ours, peers, 'redis'), 'single.nodeCpu': ratio(ours, peers, 'node') },
      tables: [
        decisionsTable('One request a call: 10,000 users, token bucket, 64 calls in flight', samples, 'Floodgate'),
      ],
    };
  },
};

/** Checks that no two requests shared a call. Polls of overrides are calls as well. */
function calledFor({ admin }) {
  let from;
  return {
    before: async () => (from = await redisCalls(admin, 'evalsha')),
    after: async (decisions) => {
      const calls = (await redisCalls(admin, 'evalsha')) - from;
      verify(calls >= decisions, `${decisions} requests had ${calls} calls`);
    },
  };
}

export const hot512 = {
  ratios: ['hot512.throughput'],
  async run(bench) {
    const { limiter, length } = await open(bench);
    const peer = { keys: 1, length };
    const hottest = await rateLimiterFlexible(bench, peer);
    const contestants = [
      hotKey(limiter),
      { ...hottest, ...countedBy(async () => (await hottest.limiter.get(hottest.users[0]))?.consumedPoints ?? 0) },
      await bareEvalsha(bench, peer),
      await incr(bench, peer),
    ];
    const samples = await measure(contestants, { inFlight: 512, bench });
    await exactlyItsCapacity(limiter);
    return {
      ratios: { 'hot512.throughput': ratio(samples.get('Floodgate'), samples.get(hottest.name), 'throughput') },
      tables: [decisionsTable('One hot key: token bucket, 512 in flight', samples, 'Floodgate')],
    };
  },
};

function hotKey(limiter) {
  const identity = { kind: 'user', value: user(0) };
  const taken = async () => POLICIES.hot.capacity - (await limiter.peek('hot', identity)).policies[0].remaining;
  return {
    name: 'Floodgate',
    ask: () => limiter.consume('hot', identity),
    right: passed,
    late,
    ...countedBy(taken),
  };
}

/** Checks that what a load was let through is what the key was charged; a token may come back meanwhile. */
function countedBy(taken) {
  let before;
  return {
    before: async () => (before = await taken()),
    after: async (decisions) => {
      const charged = (await taken()) - before;
      verify(Math.abs(charged - decisions) <= 1, `${decisions} passed on the hot key, ${charged} were charged`);
    },
  };
}

/** Sends twice the capacity of a bucket at once: exactly its capacity passes. */
async function exactlyItsCapacity(limiter) {
  const { capacity } = POLICIES.exact;
  let asked = 0;
  let admitted = 0;
  const keepAsking = async () => {
    while (asked++ < 2 * capacity) {
      if (passed(await limiter.consume('exact', { kind: 'user', value: user(0) }))) admitted++;
    }
  };
  await Promise.all(Array.from({ length: 512 }, keepAsking));
  verify(admitted === capacity, `${admitted} of ${2 * capacity} passed a bucket of ${capacity}`);
}
