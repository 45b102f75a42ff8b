import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { timesOf } from '../support/faults/arrivals.js';
import { chargedTo, expectPromotion, useClusterPod } from '../support/faults/cluster-fixture.js';
import { type Answer, POLICY } from '../support/faults/pod.js';
import type { ClusterNode } from '../support/faults/redis-cluster.js';
import { until } from '../support/faults/until.js';

/** Six servers of a Cluster share the machine. */
const on = useClusterPod([], { deadline: 2_000 });

it('decides the requests of users of all nodes at once', async () => {
  const users = Array.from({ length: 60 }, (_, i) => `all-${i}`);
  const decisions = await Promise.all(users.flatMap((user) => [on.pod.ask(user), on.pod.ask(user)]));
  expect(decisions.map(({ decidedBy }) => decidedBy)).toEqual(decisions.map(() => 'store'));
  for (const user of users) expect(await chargedTo(on.pod, user)).toBe(2);
});

it('a master that is killed: its users are decided locally, other users by their nodes', () =>
  expectPromotion(
    on,
    'killed',
    (master) => master.kill(),
    (master) => master.restart(),
  ));

it('what ends while its node is unavailable is given back once a replica decides', async () => {
  const [sick] = (await on.cluster.masters()) as [ClusterNode];
  const [user, other] = [await on.cluster.userOf(sick, 'ending'), await on.cluster.userOf(sick, 'asking')];
  const held = await Promise.all(
    Array.from({ length: 5 }, async () => on.pod.limiter.reserve(POLICY, { kind: 'user', value: user }, { cost: 10 })),
  );
  expect(await chargedTo(on.pod, user)).toBe(50);
  await using _ = { [Symbol.asyncDispose]: () => sick.restart() };
  await sick.kill();
  await until('its node is unavailable', 20_000, async () => {
    await on.pod.ask(other);
    return on.pod.app.logs.text.includes('Redis node');
  });
  await Promise.all(held.map(async (one) => one.cancel()));
  await until('all is given back', 45_000, async () => (await chargedTo(on.pod, user)) === 0);
});

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
  answers.push(await on.pod.timed(user));
  const loads = [load(), load(), load()];
  await on.cluster.migrateSlot(slot, from, to);
  answers.push(await on.pod.timed(user));
  moved.abort();
  await Promise.all(loads);
  expect(await chargedTo(on.pod, user)).toBe(on.pod.admittedByRedis(user));
  await on.pod.conclude('cluster: a slot moves under load', { answers: timesOf(answers) });
});
