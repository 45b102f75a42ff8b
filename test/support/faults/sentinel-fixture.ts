import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { expectInTime, timesOf } from './arrivals.js';
import type { BreakableServer } from './breakable-server.js';
import { type Answer, Pod } from './pod.js';
import { RedisSentinel } from './redis-sentinel.js';
import { until } from './until.js';

const FAILOVER_MS = 20_000;

export interface SentinelFixture {
  readonly sentinel: RedisSentinel;
  /** New for each test, which begins when Redis decides. */
  readonly pod: Pod;
}

/** A master, its replica and their Sentinels for the file that calls this, and a pod that uses them. */
export function useSentinelPod(): SentinelFixture {
  let sentinel: RedisSentinel;
  let pod: Pod;
  beforeAll(async () => {
    sentinel = await RedisSentinel.start();
  });
  beforeEach(async () => {
    await sentinel.settled();
    await (await sentinel.master()).client.flushall();
    pod = await Pod.start({ redis: { sentinels: sentinel.addresses, name: sentinel.name } });
    await pod.recovered();
  });
  afterEach(() => pod.app.close());
  afterAll(() => sentinel.stop());
  return {
    get sentinel() {
      return sentinel;
    },
    get pod() {
      return pod;
    },
  };
}

/** Loses the master: every request is answered in time, and its replica decides without help. */
export async function expectFailover(
  { sentinel, pod }: SentinelFixture,
  what: string,
  begin: (master: BreakableServer) => unknown,
  end: (master: BreakableServer) => unknown,
): Promise<void> {
  const master = await sentinel.master();
  await pod.ask();
  await using _ = { [Symbol.asyncDispose]: async () => void (await end(master)) };
  await begin(master);
  const since = performance.now();
  const answers: Answer[] = [];
  await until('the replica decides', FAILOVER_MS, async () => {
    const answer = await pod.timed();
    answers.push(answer, await pod.timedOnce());
    await delay(10);
    return answer.decision.decidedBy === 'store' && hasDecided(await sentinel.master());
  });
  const recoveryMs = performance.now() - since;
  expectInTime(answers);
  // The writes that the old master had not replicated are lost.
  await pod.conclude(`sentinel: the master is ${what}`, { answers: timesOf(answers), recoveryMs }, { limits: 2 });
}

/** Whether a server has the key of the pod's user. */
async function hasDecided({ client }: BreakableServer): Promise<boolean> {
  return (await client.keys('rl:*ada*')).length > 0;
}
