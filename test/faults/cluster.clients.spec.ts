import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, jest } from '@jest/globals';
import { timesOf } from '../support/faults/arrivals.js';
import { type Answer, CAPACITY, POLICY } from '../support/faults/pod.js';
import { useClusterPod } from '../support/faults/cluster-fixture.js';
import type { ClusterNode } from '../support/faults/redis-cluster.js';
import { until } from '../support/faults/until.js';

jest.setTimeout(90_000); // it is real time, and the machine may be busy

/** More than the default: six servers of a Cluster share the machine with all other tests. */
const DEADLINE_MS = 250;
const LATE_MS = 250;
/** Milliseconds for the Cluster to promote a replica, which depends on Redis, and for a pod to notice. */
const PROMOTION_MS = 45_000;
const FAILOVER_MS = 15_000;
const RECOVERY_MS = 5_000;

const on = useClusterPod([], { deadline: DEADLINE_MS });

function charged(user: string): Promise<number> {
  return until('Redis tells what is charged', FAILOVER_MS, async () => {
    const { decidedBy, policies } = await on.pod.limiter.peek(POLICY, { kind: 'user', value: user });
    return decidedBy === 'store' && CAPACITY - policies[0]!.remaining;
  });
}

it('decides the requests of users of all nodes at once', async () => {
  const users = Array.from({ length: 60 }, (_, i) => `all-${i}`);
  const decisions = await Promise.all(users.flatMap((user) => [on.pod.ask(user), on.pod.ask(user)]));
  expect(decisions.map(({ decidedBy }) => decidedBy)).toEqual(decisions.map(() => 'store'));
  for (const user of users) expect(await charged(user)).toBe(2);
});

it.each<[string, (master: ClusterNode) => unknown, (master: ClusterNode) => unknown]>([
  ['killed', (master) => master.kill(), (master) => master.restart()],
  ['stopped', (master) => master.stop(), (master) => master.cont()],
])(
  'a master that is %s: its users are decided locally in time, other users by their nodes',
  async (what, begin, end) => {
    const [sick, healthy] = (await on.cluster.masters()) as [ClusterNode, ClusterNode];
    const [bad, good] = [await on.cluster.userOf(sick, what), await on.cluster.userOf(healthy, what)];
    const before = [await on.pod.ask(bad), await on.pod.ask(good)];
    expect(before.map(({ decidedBy }) => decidedBy)).toEqual(['store', 'store']);
    await using _ = { [Symbol.asyncDispose]: async () => void (await end(sick)) };
    await begin(sick);
    const answers: Answer[] = [];
    let told = 1;
    for (let i = 0; i < 10; i++) {
      const [one, other] = await Promise.all([on.pod.timed(bad), on.pod.timed(good)]);
      expect(other.decision.decidedBy).toBe('store');
      expect(one.ms).toBeLessThan(DEADLINE_MS + LATE_MS);
      if (one.decision.decidedBy === 'store') told++;
      answers.push(one, other);
    }
    const slot = await on.cluster.slotOf(`{user:${bad}}`);
    await until('a replica is promoted', PROMOTION_MS, async () => (await on.cluster.ownerOf(slot)) !== sick);
    const since = performance.now();
    await until('the pod notices', RECOVERY_MS, async () => {
      const { decidedBy } = await on.pod.limiter.peek(POLICY, { kind: 'user', value: bad });
      await delay(10);
      return decidedBy === 'store';
    });
    const recoveryMs = performance.now() - since;
    expect(await charged(good)).toBe(11);
    const doubles = Math.max(0, (await charged(bad)) - told - 10);
    expect(doubles).toBe(0);
    // The writes that the old master had not replicated are lost.
    await on.pod.conclude(`cluster: a master ${what}`, { answers: timesOf(answers), recoveryMs }, { limits: 2 });
  },
);

it('a slot that moves under load: admissions equal charges', async () => {
  const [from, to] = (await on.cluster.masters()) as [ClusterNode, ClusterNode];
  const user = await on.cluster.userOf(from, 'mover');
  const slot = await on.cluster.slotOf(`{user:${user}}`);
  const moved = new AbortController();
  const answers: Answer[] = [];
  const load = async (): Promise<void> => {
    while (!moved.signal.aborted) {
      answers.push(await on.pod.timed(user));
      await delay(1);
    }
  };
  const loads = [load(), load(), load()];
  await delay(30);
  await on.cluster.migrateSlot(slot, from, to);
  await delay(30);
  moved.abort();
  await Promise.all(loads);
  expect(on.pod.admittedByRedis(user)).toBeGreaterThan(10);
  expect(await charged(user)).toBe(on.pod.admittedByRedis(user));
  await on.pod.conclude('cluster: a slot moves under load', { answers: timesOf(answers) });
});
