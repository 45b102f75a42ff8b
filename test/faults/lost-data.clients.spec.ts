import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { arrivals, timesOf } from '../support/faults/arrivals.js';
import { useOneRedis } from '../support/faults/one-redis.js';
import type { Answer, Pod } from '../support/faults/pod.js';
import { record } from '../support/faults/record.js';

const LIMIT = 60;
/** Nothing refills while a test runs. A concurrency runs the commands of the log. */
const POLICIES: Readonly<Record<Exclude<Policy['algorithm'], 'concurrency'>, Policy>> = {
  'token-bucket': { name: 'tb', algorithm: 'token-bucket', capacity: LIMIT, refill: '1/d' },
  'leaky-bucket': { name: 'lb', algorithm: 'leaky-bucket', capacity: LIMIT, drain: '1/d' },
  'fixed-window': { name: 'fw', algorithm: 'fixed-window', limit: LIMIT, window: '36500d' },
  'sliding-window-log': { name: 'swl', algorithm: 'sliding-window-log', limit: LIMIT, window: '36500d' },
  'sliding-window-counter': { name: 'swc', algorithm: 'sliding-window-counter', limit: LIMIT, window: '10d' },
};
/** The first request of a leaky bucket takes no place in its queue. */
const limitOf = ({ algorithm }: Policy): number => LIMIT + Number(algorithm === 'leaky-bucket');

const on = useOneRedis();

/** The denial cache would hide that Redis has lost its data. Only a busy machine makes an answer late. */
const startPod = (): Promise<Pod> => on.start({ deadline: 10_000, denialCache: 0 });

/** Asks Redis, which has to decide. */
async function timed(pod: Pod, policy: Policy, user: string): Promise<Answer> {
  const since = performance.now();
  const decision = await pod.limiter.consume(policy, { kind: 'user', value: user });
  expect(decision.decidedBy).toBe('store');
  return { decision, ms: performance.now() - since };
}

it('FLUSHALL under load is no failure, and admits one limit more', async () => {
  const pod = await startPod();
  await pod.drain();
  const coming = arrivals(pod, 200);
  await on.admin.flushall();
  const answers = await coming;
  expect(answers.filter(({ decision }) => decision.decidedBy !== 'store')).toEqual([]);
  await pod.conclude('FLUSHALL', { answers: timesOf(answers) }, { limits: 2 });
  for (const policy of Object.values(POLICIES)) {
    let admitted = 0;
    for (let turn = 0; turn < 4; turn++) {
      if (turn === 2) await on.admin.flushall();
      const asked = await Promise.all(Array.from({ length: LIMIT }, () => timed(pod, policy, 'ada')));
      admitted += asked.filter(({ decision }) => decision.allowed).length;
    }
    expect(admitted).toBe(2 * limitOf(policy));
  }
});

it('eviction (allkeys-random) under load is no failure, and admits one limit more for each evicted key', async () => {
  const pod = await startPod();
  const evicted: string[] = [];
  const listener = on.admin.duplicate();
  await listener.subscribe('__keyevent@0__:evicted');
  listener.on('message', (_, key) => void evicted.push(key));
  await on.admin.config('SET', 'notify-keyspace-events', 'Ee');
  await on.admin.config('SET', 'maxmemory-policy', 'allkeys-random');
  const used = Number(/used_memory:(\d+)/.exec(await on.admin.info('memory'))?.[1]);
  await on.admin.config('SET', 'maxmemory', used + 500_000);

  const users = Array.from({ length: 20 }, (_, i) => `user-${i}`);
  const admitted = new Map<string, number>();
  const answers: Answer[] = [];
  const isOurs = (key: string): boolean => key.startsWith('rl:');
  // Until every client asked for more than its limit, and keys of theirs were evicted.
  for (let turn = 0; turn < LIMIT + 10 || evicted.filter(isOurs).length < 10; turn++) {
    void on.admin.mset(Object.fromEntries([0, 1, 2, 3, 4].map((i) => [`ballast ${turn} ${i}`, 'x'.repeat(9_000)])));
    for (const policy of Object.values(POLICIES)) {
      const asked = await Promise.all(users.map((user) => timed(pod, policy, user)));
      for (const [i, { decision }] of asked.entries()) {
        const key = `${policy.name} ${users[i]}`;
        if (decision.allowed) admitted.set(key, (admitted.get(key) ?? 0) + 1);
      }
      answers.push(...asked);
    }
  }
  await on.admin.publish('__keyevent@0__:evicted', 'the last');
  while (!evicted.includes('the last')) await delay(5);
  listener.disconnect();
  await on.admin.config('SET', 'maxmemory', 0);

  let overAdmissions = 0;
  for (const policy of Object.values(POLICIES)) {
    for (const user of users) {
      const losses = evicted.filter((key) => key.includes(`{user:${user}}`) && key.includes(`:${policy.name}:`)).length;
      overAdmissions += Math.max(0, admitted.get(`${policy.name} ${user}`)! - limitOf(policy) * (1 + losses));
    }
  }
  // Each client got all of its limit if each admission was charged once.
  const doubles = [...admitted.values()].filter((count) => count < LIMIT).length;
  record('eviction (allkeys-random)', { answers: timesOf(answers), doubles, overAdmissions });
  expect({ doubles, overAdmissions }).toEqual({ doubles: 0, overAdmissions: 0 });
  expect(pod.app.logs.of('error')).toEqual([]);
});
