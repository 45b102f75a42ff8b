import { distinctKeys, identities, late, openLimiter } from '../floodgate.js';
import { loadHttp, openHttp } from '../http/contestant.js';
import { inTurn, measure, ratio, verify } from '../measure.js';
import { decisionsTable, HTTP_ON_REDIS, httpTable, IN_PROCESS } from '../table.js';

const KEYS = 10_000;
const HTTP_USERS = 1_000;
const POLICIES = {
  log: { algorithm: 'sliding-window-log', limit: 1_000, window: '1s' },
  // Few enough that users would soon be rejected if their leases were not released.
  leases: { algorithm: 'concurrency', limit: 3, lease: '1m' },
};
const LOG = 'a log';
const LEASES = 'a concurrency';

/** What a lease costs: it is taken and released, where a log's entry is written once. */
export const concurrency = {
  ratios: ['concurrency.nodeCpu', 'concurrency.redisCpu', 'concurrency.memory', 'concurrency.http'],
  async run(bench) {
    const redis = await measured(bench, { redis: bench.url }, 512);
    const memory = await measured(bench, {}, 1);
    const http = await overHttp(bench);
    const cost = (samples, figure) => ratio(samples.get(LEASES), samples.get(LOG), figure);
    return {
      ratios: {
        'concurrency.nodeCpu': cost(redis, 'node'),
        'concurrency.redisCpu': cost(redis, 'redis'),
        'concurrency.memory': cost(memory, 'node'),
        'concurrency.http': cost(http, 'cpu'),
      },
      tables: [
        decisionsTable('acquire and release, on Redis: 10,000 users, 512 in flight', redis, LOG),
        decisionsTable('acquire and release, in the process: 10,000 users', memory, LOG, IN_PROCESS),
        httpTable('Leases, Nest on Fastify and Redis: 1,000 users, 64 connections', http, LOG, HTTP_ON_REDIS),
      ],
    };
  },
};

async function measured(bench, store, inFlight) {
  const limiter = await openLimiter(bench, { ...store, policies: POLICIES, deadline: '1s' });
  const users = identities(KEYS);
  await proveLimit(limiter, users[0]);
  const leases = {
    name: LEASES,
    ask: async (i) => {
      const lease = await limiter.acquire('leases', users[i % KEYS]);
      lease.release();
      return lease;
    },
    right: ({ allowed, decision }) => allowed && decision.decidedBy === 'store',
    late,
  };
  return measure([distinctKeys(limiter, 'log', KEYS, LOG), leases], { inFlight, bench });
}

/** A fourth request is rejected while three leases are held. Whether releases free them, the loads show. */
async function proveLimit(limiter, identity) {
  const leases = await Promise.all([1, 2, 3, 4].map(() => limiter.acquire('leases', identity)));
  const held = leases.filter(({ allowed }) => allowed);
  verify(held.length === 3, `${held.length} of 4 leases were granted where 3 are`);
  for (const lease of held) lease.release();
}

async function overHttp(bench) {
  const contestants = await Promise.all([
    openHttp(bench, 'fastify', { name: LOG, variant: 'log', users: HTTP_USERS }),
    openHttp(bench, 'fastify', { name: LEASES, variant: 'concurrency', users: HTTP_USERS }),
  ]);
  return inTurn(contestants, bench, loadHttp);
}
