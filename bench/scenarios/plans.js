import { distinctKeys, identities, late, openLimiter, passed } from '../floodgate.js';
import { loadHttp, openHttp } from '../http/contestant.js';
import { inTurn, measure, ratio } from '../measure.js';
import { decisionsTable, HTTP_ON_REDIS, httpTable, IN_PROCESS } from '../table.js';

const KEYS = 10_000;
/** Few enough that each has asked before the first round ends. */
const HTTP_USERS = 1_000;
const BUCKET = { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 };
const PRO = 2_000_000;
const PLAIN = 'a policy without plans';
const NO_PLAN = 'plans, and users without one';
const WITH_PLAN = 'plans, and users of plan pro';

/** What plans cost: by code, which says the plan, and over HTTP, where a resolver's answer is cached. */
export const plans = {
  ratios: ['plans.nodeCpu', 'plans.redisCpu', 'plans.memory', 'plans.http'],
  async run(bench) {
    const redis = await measured(bench, { redis: bench.url }, 512);
    const memory = await measured(bench, {}, 1);
    const http = await overHttp(bench);
    const cost = (samples, figure) => ratio(samples.get(WITH_PLAN), samples.get(PLAIN), figure);
    return {
      ratios: {
        'plans.nodeCpu': cost(redis, 'node'),
        'plans.redisCpu': cost(redis, 'redis'),
        'plans.memory': cost(memory, 'node'),
        'plans.http': cost(http, 'cpu'),
      },
      tables: [
        decisionsTable('Plans, on Redis: 10,000 users, 512 in flight', redis, PLAIN),
        decisionsTable('Plans, in the process: 10,000 users', memory, PLAIN, IN_PROCESS),
        httpTable('Plans, Nest on Fastify and Redis: 1,000 users, 64 connections', http, PLAIN, HTTP_ON_REDIS),
      ],
    };
  },
};

async function measured(bench, store, inFlight) {
  const policies = { bucket: BUCKET, planned: { ...BUCKET, plans: { pro: { capacity: PRO } } } };
  const limiter = await openLimiter(bench, { ...store, policies, deadline: '1s' });
  const users = identities(KEYS);
  const planned = (name, plan, limit) => ({
    name,
    ask: (i) => limiter.consume('planned', users[i % KEYS], { plan }),
    right: (decision) => passed(decision) && decision.policies[0].limit === limit,
    late,
  });
  const contestants = [
    distinctKeys(limiter, 'bucket', KEYS, PLAIN),
    planned(NO_PLAN, null, BUCKET.capacity),
    planned(WITH_PLAN, 'pro', PRO),
  ];
  return measure(contestants, { inFlight, bench });
}

async function overHttp(bench) {
  const hasLimit = (limit) => (head) => new RegExp(`\nx-ratelimit-limit: ${limit}\r`, 'i').test(head);
  const lookUps = ({ plans: { cache, resolver } }) => {
    // One for each user, or the answers are not cached.
    return resolver <= HTTP_USERS ? cache + resolver : NaN;
  };
  const variants = [
    { name: PLAIN, variant: 'floodgate', isRight: hasLimit(BUCKET.capacity) },
    { name: NO_PLAN, variant: 'plans', isRight: hasLimit(BUCKET.capacity), counted: lookUps },
    { name: WITH_PLAN, variant: 'pro', isRight: hasLimit(PRO), counted: lookUps },
  ];
  const contestants = await Promise.all(
    variants.map((variant) => openHttp(bench, 'fastify', { ...variant, users: HTTP_USERS })),
  );
  return inTurn(contestants, bench, loadHttp);
}
