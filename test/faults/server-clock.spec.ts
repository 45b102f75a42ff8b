import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Policy } from 'nestjs-floodgate';
import { ClockedRedis } from '../support/faults/clocked-redis.js';
import { type Answer, Pod } from '../support/faults/pod.js';
import { record } from '../support/faults/record.js';

jest.setTimeout(30_000);

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

describe('the server’s clock', () => {
  let redis: ClockedRedis;
  let admin: Redis;
  let pod: Pod;
  /** The beginning of the test's time: a minute into a window, so that no window ends during the test. */
  let start: number;
  let answers: Answer[];

  beforeAll(async () => {
    redis = await ClockedRedis.start();
    admin = new Redis(redis.server.url);
    // Without the denial cache, which a step of the clock makes untrue. Only a busy machine makes an answer late.
    pod = await Pod.start({ redis: redis.server.url, denialCache: 0, deadline: 1000 });
  });

  afterAll(async () => {
    await pod.app.close();
    admin.disconnect();
    await redis[Symbol.asyncDispose]();
  });

  beforeEach(async () => {
    start = WINDOW + MINUTE - (Date.now() % WINDOW);
    answers = [];
    await at(0);
    await admin.flushall();
  });

  /** Sets the clock to `ms` after the beginning, and waits until Redis confirms it. */
  async function at(ms: number): Promise<void> {
    redis.setAhead(start + ms);
    const [seconds] = await admin.time();
    expect(Math.abs(Number(seconds) * 1000 - Date.now() - start - ms)).toBeLessThan(2 * MINUTE);
  }

  async function ask(policy: Policy): Promise<Answer> {
    const since = performance.now();
    const decision = await pod.limiter.consume(policy, { kind: 'user', value: 'ada' });
    const answer = { decision, ms: performance.now() - since };
    expect(decision.decidedBy).toBe('store');
    answers.push(answer);
    return answer;
  }

  /** Admissions of more requests than can pass. */
  async function admitted(policy: Policy): Promise<number> {
    const asked = await Promise.all(Array.from({ length: 3 * LIMIT }, () => ask(policy)));
    return asked.filter(({ decision }) => decision.allowed).length;
  }

  /** @param extra admissions after the step; a step may give one limit more */
  function conclude(fault: string, before: readonly number[], extra: readonly number[]): void {
    const sum = (each: (limit: number, i: number) => number): number =>
      POLICIES.reduce((total, policy, i) => total + Math.max(0, each(limitOf(policy), i)), 0);
    const doubles = sum((limit, i) => limit - before[i]!);
    const overAdmissions = sum((limit, i) => before[i]! - limit) + sum((limit, i) => extra[i]! - limit);
    record(fault, { answers: answers.map(({ ms }) => ms), doubles, overAdmissions });
    expect({ doubles, overAdmissions }).toEqual({ doubles: 0, overAdmissions: 0 });
    expect(pod.app.logs.of('warn')).toEqual([]);
  }

  it('steps an hour forward: one limit more at most', async () => {
    const [before, after]: [number[], number[]] = [[], []];
    for (const policy of POLICIES) before.push(await admitted(policy));
    await at(HOUR);
    for (const policy of POLICIES) after.push(await admitted(policy));
    expect(after).toEqual(POLICIES.map(limitOf)); // as if the hour had passed
    conclude('server clock: an hour forward', before, after);
  });

  it('steps an hour back: instants that lie ahead are rebased at once, and a client waits for a window at most', async () => {
    const [before, after]: [number[], number[]] = [[], []];
    await at(HOUR);
    for (const policy of POLICIES) before.push(await admitted(policy));
    await at(0);
    for (const policy of POLICIES) {
      after.push(await admitted(policy));
      const retryAfterMs = (await ask(policy)).decision.retryAfterMs!;
      expect(retryAfterMs).toBeGreaterThan(0);
      expect(retryAfterMs).toBeLessThanOrEqual(WINDOW);
      const [key = ''] = await admin.keys(`*:${policy.name}:*`);
      // Two windows for the counter, which weighs the one before.
      expect(await admin.ttl(key)).toBeLessThanOrEqual((2 * WINDOW) / 1000 + 1);
      // At its retryAfter the request passes: the step has no effect any more.
      await at(retryAfterMs + 1);
      expect((await ask(policy)).decision.allowed).toBe(true);
      await at(0);
    }
    conclude('server clock: an hour back', before, after);
  });

  it('steps forward and back again and again: one limit more for each step at most', async () => {
    const totals = POLICIES.map(() => 0);
    const steps = [0, HOUR, 0, 2 * HOUR, HOUR, 3 * HOUR, 0];
    for (const step of steps) {
      await at(step);
      for (const [i, policy] of POLICIES.entries()) totals[i]! += await admitted(policy);
    }
    const overAdmissions = POLICIES.reduce(
      (total, policy, i) => total + Math.max(0, totals[i]! - steps.length * limitOf(policy)),
      0,
    );
    expect(overAdmissions).toBe(0);
    for (const policy of POLICIES) expect((await ask(policy)).decision.retryAfterMs).toBeLessThanOrEqual(WINDOW);
  });
});
