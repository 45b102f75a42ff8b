import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import type { AlgorithmName, Policy } from 'nestjs-floodgate';
import { arrivals, timesOf } from '../support/faults/arrivals.js';
import { type Answer, Pod } from '../support/faults/pod.js';
import { record } from '../support/faults/record.js';
import { RedisServer } from '../support/redis-server.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

/** Nothing hangs here: only a busy machine makes an answer late. */
const DEADLINE_MS = 1000;
const LIMIT = 60;
/** Nothing refills while a test runs. */
const POLICIES: Readonly<Record<Exclude<AlgorithmName, 'concurrency'>, Policy>> = {
  'token-bucket': { name: 'tb', algorithm: 'token-bucket', capacity: LIMIT, refill: '1/d' },
  'leaky-bucket': { name: 'lb', algorithm: 'leaky-bucket', capacity: LIMIT, drain: '1/d' },
  'fixed-window': { name: 'fw', algorithm: 'fixed-window', limit: LIMIT, window: '36500d' },
  'sliding-window-log': { name: 'swl', algorithm: 'sliding-window-log', limit: LIMIT, window: '36500d' },
  'sliding-window-counter': { name: 'swc', algorithm: 'sliding-window-counter', limit: LIMIT, window: '10d' },
};

let server: RedisServer;
let admin: Redis;
let pod: Pod;

beforeEach(async () => {
  server = await RedisServer.start();
  admin = new Redis(server.url);
  // The denial cache would hide that Redis has lost its data.
  pod = await Pod.start({ redis: server.url, deadline: DEADLINE_MS, denialCache: 0 });
});

afterEach(async () => {
  await pod.app.close();
  admin.disconnect();
  await server.stop();
});

/** Asks Redis, which has to decide, and measures the time. */
async function timed(policy: Policy, user: string): Promise<Answer> {
  const since = performance.now();
  const decision = await pod.limiter.consume(policy, { kind: 'user', value: user });
  const ms = performance.now() - since;
  expect(decision.decidedBy).toBe('store');
  return { decision, ms };
}

describe('FLUSHALL under load', () => {
  it('is no failure, and admits one limit more', async () => {
    await pod.drain();
    const coming = arrivals(pod, 2, 200);
    await delay(100);
    await admin.flushall();
    const answers = await coming;
    expect(answers.filter(({ decision }) => decision.decidedBy !== 'store')).toEqual([]);
    await pod.conclude('FLUSHALL', { answers: timesOf(answers) }, { limits: 2 });
  });

  it.each(Object.values(POLICIES))('admits one limit more with every algorithm: $algorithm', async (policy) => {
    const decisions: Answer[] = [];
    for (let turn = 0; turn < 40; turn++) {
      if (turn === 20) await admin.flushall();
      decisions.push(...(await Promise.all(Array.from({ length: 4 }, () => timed(policy, 'ada')))));
    }
    const admitted = decisions.filter(({ decision }) => decision.allowed).length;
    // The first request of a leaky bucket takes no place in its queue.
    expect(admitted).toBe(2 * (LIMIT + Number(policy.algorithm === 'leaky-bucket')));
  });
});

it('eviction (allkeys-random) under load is no failure, and admits one limit more for each evicted key', async () => {
  const evicted = new Map<string, number>();
  const listener = admin.duplicate();
  await listener.subscribe('__keyevent@0__:evicted');
  listener.on('message', (_, key) => evicted.set(key, (evicted.get(key) ?? 0) + 1));
  await admin.config('SET', 'notify-keyspace-events', 'Ee');
  await admin.config('SET', 'maxmemory-policy', 'allkeys-random');
  const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1]);
  await admin.config('SET', 'maxmemory', used + 1_000_000);

  const users = Array.from({ length: 20 }, (_, i) => `user-${i}`);
  const admitted = new Map<string, number>();
  const answers: Answer[] = [];
  for (let turn = 0; turn < 100; turn++) {
    void admin.mset(
      Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`ballast ${turn} ${i}`, 'x'.repeat(9_000)])),
    );
    for (const policy of Object.values(POLICIES)) {
      const asked = await Promise.all(users.map((user) => timed(policy, user)));
      for (const [i, { decision }] of asked.entries()) {
        const key = `${policy.name} ${users[i]}`;
        if (decision.allowed) admitted.set(key, (admitted.get(key) ?? 0) + 1);
      }
      answers.push(...asked);
    }
  }
  await admin.publish('__keyevent@0__:evicted', 'the last');
  while (!evicted.has('the last')) await delay(5);

  let overAdmissions = 0;
  let losses = 0;
  for (const policy of Object.values(POLICIES)) {
    for (const user of users) {
      const went = [...evicted].find(
        ([key]) => key.includes(`{user:${user}}`) && key.includes(`:${policy.name}:`),
      )?.[1];
      losses += went ?? 0;
      const limit = LIMIT + Number(policy.algorithm === 'leaky-bucket');
      overAdmissions += Math.max(0, admitted.get(`${policy.name} ${user}`)! - limit * (1 + (went ?? 0)));
    }
  }
  expect(losses).toBeGreaterThan(10); // otherwise nothing was evicted
  // Each client asked for more than its limit, so it got all of it if each admission was charged once.
  const doubles = [...admitted.values()].filter((count) => count < LIMIT).length;
  record('eviction (allkeys-random)', { answers: timesOf(answers), doubles, overAdmissions });
  expect({ doubles, overAdmissions }).toEqual({ doubles: 0, overAdmissions: 0 });
  expect(pod.app.logs.of('error')).toEqual([]);
  listener.disconnect();
});
