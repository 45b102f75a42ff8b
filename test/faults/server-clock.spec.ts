import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Decision, Policy } from 'nestjs-floodgate';
import { ClockedRedis } from '../support/faults/clocked-redis.js';
import { Pod } from '../support/faults/pod.js';
import { record } from '../support/faults/record.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WINDOW = 10 * MINUTE;
const LIMIT = 60;
/** Policies whose whole limit is available again after ten minutes. */
const POLICIES: readonly Policy[] = [
  { name: 'tb', algorithm: 'token-bucket', capacity: LIMIT, refill: '6/m' },
  { name: 'lb', algorithm: 'leaky-bucket', capacity: LIMIT, drain: '6/m' },
  { name: 'fw', algorithm: 'fixed-window', limit: LIMIT, window: WINDOW },
  { name: 'swl', algorithm: 'sliding-window-log', limit: LIMIT, window: WINDOW },
  { name: 'swc', algorithm: 'sliding-window-counter', limit: LIMIT, window: WINDOW },
];

/** The first request of a leaky bucket takes no place in its queue. */
const limitOf = ({ algorithm }: Policy): number => LIMIT + Number(algorithm === 'leaky-bucket');

let redis: ClockedRedis;
let admin: Redis;
let pod: Pod;
/** The beginning of the test's time: a minute into a window, so that no window ends during the test. */
let start: number;

beforeAll(async () => {
  redis = await ClockedRedis.start();
  admin = new Redis(redis.server.url);
  // Without the denial cache, which a step of the clock makes untrue. Only a busy machine makes an answer late.
  pod = await Pod.start({ redis: redis.server.url, denialCache: 0, deadline: 10_000 });
});

afterAll(async () => {
  await pod.app.close();
  admin.disconnect();
  await redis[Symbol.asyncDispose]();
});

beforeEach(async () => {
  start = WINDOW + MINUTE - (Date.now() % WINDOW);
  await at(0);
  await admin.flushall();
});

/** Sets the clock to `ms` after the beginning, and waits until Redis confirms it. */
async function at(ms: number): Promise<void> {
  redis.setAhead(start + ms);
  const [seconds] = await admin.time();
  expect(Math.abs(Number(seconds) * 1000 - Date.now() - start - ms)).toBeLessThan(2 * MINUTE);
}

async function ask(policy: Policy): Promise<Decision> {
  const decision = await pod.limiter.consume(policy, { kind: 'user', value: 'ada' });
  expect(decision.decidedBy).toBe('store');
  return decision;
}

/** The admissions of each policy, which is asked more often than its limit lets pass. */
async function admitted(): Promise<number[]> {
  const counts: number[] = [];
  for (const policy of POLICIES) {
    const asked = await Promise.all(Array.from({ length: 2 * LIMIT }, () => ask(policy)));
    counts.push(asked.filter(({ allowed }) => allowed).length);
  }
  return counts;
}

it('forward an hour, again and again: one limit more for each step', async () => {
  for (const step of [0, HOUR, 2 * HOUR]) {
    await at(step);
    expect(await admitted()).toEqual(POLICIES.map(limitOf));
  }
  record('server clock: an hour forward', { answers: [], doubles: 0, overAdmissions: 0 });
  expect(pod.app.logs.of('warn')).toEqual([]);
});

it('back an hour: at most one limit more, and a client waits for a window at most', async () => {
  await at(HOUR);
  expect(await admitted()).toEqual(POLICIES.map(limitOf));
  await at(0);
  const after = await admitted();
  const overAdmissions = after.filter((count, i) => count > limitOf(POLICIES[i]!)).length;
  for (const policy of POLICIES) {
    const retryAfterMs = (await ask(policy)).retryAfterMs!;
    expect(retryAfterMs).toBeGreaterThan(0);
    expect(retryAfterMs).toBeLessThanOrEqual(WINDOW);
    const [key = ''] = await admin.keys(`*:${policy.name}:*`);
    // Two windows for the counter, which weighs the one before.
    expect(await admin.ttl(key)).toBeLessThanOrEqual((2 * WINDOW) / 1000 + 1);
    // At its retryAfter the request passes: the step has no effect any more.
    await at(retryAfterMs + 1);
    expect((await ask(policy)).allowed).toBe(true);
    await at(0);
  }
  record('server clock: an hour back', { answers: [], doubles: 0, overAdmissions });
  expect(overAdmissions).toBe(0);
});
