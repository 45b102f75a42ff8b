import { identities, late, openLimiter, passed, redisKeyOf, user } from '../floodgate.js';
import { measure, ratio, spread, verify } from '../measure.js';
import { deploymentsOf, floodgateOn, openLimiterOn, peerOn } from './contestants.js';
import { pairsTable, sharesTable } from './tables.js';

const KEYS = 10_000;
const CAPACITY = 120_000_000;
const WHOLE = 'without shards';
const POLICIES = {
  // Every key stays alive, as its user owes from the beginning: see floodgateOn.
  distinct: { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 },
  exact: { algorithm: 'token-bucket', capacity: 20, refill: '1/h' },
  [WHOLE]: { algorithm: 'token-bucket', capacity: CAPACITY, refill: '1000/h', by: 'global' },
  '6 shards': { algorithm: 'token-bucket', capacity: CAPACITY, refill: '1000/h', by: 'global', shards: 6 },
  '12 shards': { algorithm: 'token-bucket', capacity: CAPACITY, refill: '1000/h', by: 'global', shards: 12 },
  exactShards: { algorithm: 'token-bucket', capacity: 12_000, refill: '1/h', by: 'global', shards: 6 },
};
const ONE = 0;
const MOST = 6;

/** Each user alone in the bucket of the exactness check. */
const EXACT_USERS = 200;
const IN_FLIGHT = 512;
/** Nest applications of one process. */
const PODS = 4;

/** Floodgate and its peer on one Redis and on each Cluster, all in one interleaving. */
function distinct(inFlight, figures) {
  return {
    ratios: Object.keys(figures),
    async run(bench) {
      const { length } = await keyOf(bench);
      const pairs = [];
      for (const deployment of deploymentsOf(bench)) {
        await exactPerUser(bench, deployment);
        const options = { policy: POLICIES.distinct, keys: KEYS, length };
        pairs.push({
          deployment,
          floodgate: await floodgateOn(bench, deployment, { ...options, name: `Floodgate, ${deployment.name}` }),
          peer: await peerOn(bench, deployment, { ...options, name: `rate-limiter-flexible, ${deployment.name}` }),
        });
      }
      const title = `Distinct keys: 10,000 users, token bucket, ${inFlight} in flight`;
      const { on, table } = await measurePairs(pairs, inFlight, title, bench);
      return {
        ratios: Object.fromEntries(Object.entries(figures).map(([name, ratioOf]) => [name, ratioOf(on)])),
        tables: [table],
      };
    },
  };
}

/** All pairs in one interleaving. `on` finds the samples of a deployment by its masters. */
async function measurePairs(pairs, inFlight, title, bench) {
  const contestants = pairs.flatMap(({ floodgate, peer }) => [floodgate, peer]);
  const samples = await measure(contestants, { inFlight, bench });
  const measured = pairs.map(({ deployment, floodgate, peer }) => ({
    deployment,
    ours: samples.get(floodgate.name),
    theirs: samples.get(peer.name),
  }));
  const on = (masters) => measured.find(({ deployment }) => deployment.masters === masters);
  return { on, table: pairsTable(title, measured) };
}

const toPeer = (masters, figure) => (on) => ratio(on(masters).ours, on(masters).theirs, figure);
/** Decisions a Redis-CPU-second are the reciprocal of CPU per decision. */
const linearity = (on) => ratio(on(ONE).ours, on(MOST).ours, 'redis');

export const distinct512 = distinct(512, {
  'cluster6.nodeCpu': toPeer(MOST, 'node'),
  'cluster6.redisCpu': toPeer(MOST, 'redis'),
  'cluster6.hottest': toPeer(MOST, 'hottest'),
  'cluster3.nodeCpu': toPeer(3, 'node'),
  'cluster3.redisCpu': toPeer(3, 'redis'),
  'cluster1.nodeCpu': toPeer(1, 'node'),
  'cluster1.redisCpu': toPeer(1, 'redis'),
  'cluster.linearity': linearity,
});

export const distinct64 = distinct(64, {
  'cluster64.nodeCpu': toPeer(MOST, 'node'),
  'cluster64.redisCpu': toPeer(MOST, 'redis'),
  'cluster64.linearity': linearity,
});

/** Processes that each have one request under way: no two requests share a call, on one Redis as on a Cluster. */
export const quiet = {
  ratios: ['quiet6.redisCpu', 'quiet6.linearity'],
  async run(bench) {
    const { length } = await keyOf(bench);
    const options = { policy: POLICIES.distinct, keys: KEYS, length };
    const pairs = [];
    for (const deployment of deploymentsOf(bench).filter(({ masters }) => masters === ONE || masters === MOST)) {
      const pods = (open, who) =>
        Promise.all(Array.from({ length: PODS }, () => open(bench, deployment, { ...options, name: who }))).then(asOne);
      pairs.push({
        deployment,
        floodgate: await pods(floodgateOn, `Floodgate, ${deployment.name}`),
        peer: await pods(peerOn, `rate-limiter-flexible, ${deployment.name}`),
      });
    }
    const { on, table } = await measurePairs(pairs, PODS, `${PODS} processes, one request at a time each`, bench);
    return {
      ratios: { 'quiet6.redisCpu': toPeer(MOST, 'redis')(on), 'quiet6.linearity': linearity(on) },
      tables: [table],
    };
  },
};

/** Contestants that are alike, of which each lane asks its own. */
function asOne(contestants) {
  return { ...contestants[0], ask: (i, lane) => contestants[lane].ask(i) };
}

/** One policy for all clients: whether shards spread it over the masters. */
export const shards = {
  ratios: ['shards6.share', 'shards6.hottest'],
  async run(bench) {
    const deployment = deploymentsOf(bench).at(-1);
    const limiter = await openLimiterOn(bench, deployment, POLICIES);
    const [identity] = identities(1);
    await exactly(POLICIES.exactShards.capacity, () => limiter.consume('exactShards', identity));
    const contestants = [WHOLE, '6 shards', '12 shards'].map((name) => ({
      name,
      ask: () => limiter.consume(name, identity),
      right: passed,
      late,
      servers: deployment.servers,
    }));
    const samples = await measure(contestants, { inFlight: IN_FLIGHT, bench });
    return {
      ratios: {
        'shards6.share': spread(samples.get('6 shards').map(({ share }) => share)),
        'shards6.hottest': ratio(samples.get('6 shards'), samples.get(WHOLE), 'hottest'),
      },
      tables: [sharesTable(`One global policy on a ${deployment.name}, ${IN_FLIGHT} in flight`, samples)],
    };
  },
};

/** The peer's keys become as long as Floodgate's, whose hash tag is the same on one Redis and on a Cluster. */
async function keyOf(bench) {
  const limiter = await openLimiter(bench, { redis: bench.url, policies: POLICIES });
  return redisKeyOf(bench, limiter, 'distinct', user(0));
}

/** Many users at once, each twice as often as their bucket holds: exactly its capacity passes, whatever shares a call. */
async function exactPerUser(bench, deployment) {
  await Promise.all(deployment.servers.map((server) => server.flushall()));
  const limiter = await openLimiterOn(bench, deployment, POLICIES);
  const users = identities(EXACT_USERS);
  const admitted = new Map(users.map((one) => [one, 0]));
  await exactly(EXACT_USERS * POLICIES.exact.capacity, async (i) => {
    const one = users[i % EXACT_USERS];
    const decision = await limiter.consume('exact', one);
    if (passed(decision)) admitted.set(one, admitted.get(one) + 1);
    return decision;
  });
  for (const [{ value }, count] of admitted) {
    verify(
      count === POLICIES.exact.capacity,
      `${deployment.name}: ${count} of ${value} passed a bucket of ${POLICIES.exact.capacity}`,
    );
  }
}

/** Asks twice as often as `limit`, many at a time. */
async function exactly(limit, ask) {
  let asked = 0;
  let admitted = 0;
  const keepAsking = async () => {
    while (asked < 2 * limit) {
      if (passed(await ask(asked++))) admitted++;
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, keepAsking));
  verify(admitted === limit, `${admitted} of ${2 * limit} passed where the limit is ${limit}`);
}

export const CLUSTER_SCENARIOS = [distinct512, distinct64, quiet, shards];
