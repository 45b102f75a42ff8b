import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, it } from '@jest/globals';
import type { Decision, Policy, StoreStateChange } from 'nestjs-floodgate';
import { shardTags } from '../../libs/floodgate/src/stores/shard-tags.js';
import { expectInTime, timesOf } from '../support/faults/arrivals.js';
import type { Answer } from '../support/faults/pod.js';
import { record } from '../support/faults/record.js';
import { useClusterPod } from '../support/faults/cluster-fixture.js';
import type { ClusterNode } from '../support/faults/redis-cluster.js';
import { until } from '../support/faults/until.js';
import { measured } from '../support/turning-time.js';

/** More than the default: six servers of a Cluster share the machine. */
const DEADLINE_MS = 500;
const LIMIT_MS = 20_000;
const MINE: Policy = { name: 'mine', algorithm: 'fixed-window', limit: 100, window: '300d' };
const ALL: Policy = { ...MINE, name: 'all', by: 'global' };
const SHARDED: Policy = { ...ALL, name: 'shards', limit: 60, shards: 6 };

const changes: StoreStateChange[] = [];
beforeEach(() => void (changes.length = 0));

// No replica is promoted: a stopped node stays the owner of its slots until it resumes.
const on = useClusterPod(['--cluster-node-timeout', '60000'], {
  deadline: DEADLINE_MS,
  onStoreStateChange: (change) => changes.push(change),
});

function consume(policies: Policy | Policy[], user: string): Promise<Decision> {
  return on.pod.limiter.consume(policies, { kind: 'user', value: user });
}

async function taken(policy: Policy, user = 'anybody'): Promise<number> {
  const { policies, decidedBy } = await on.pod.limiter.peek(policy, { kind: 'user', value: user });
  expect(decidedBy).toBe('store');
  return 100 - policies[0]!.remaining;
}

function stopped(node: ClusterNode): Disposable {
  node.stop();
  return { [Symbol.dispose]: () => node.cont() };
}

it('a node that hangs: none of its users waits when its breaker is open, and the log has one line', async () => {
  const [sick, healthy] = (await on.cluster.masters()) as [ClusterNode, ClusterNode];
  const [bad, good] = [await on.cluster.userOf(sick, 'hung'), await on.cluster.userOf(healthy, 'hung')];
  const node = `${sick.host}:${sick.port}`;
  const answers: Answer[] = [];
  {
    using _ = stopped(sick);
    for (let i = 0; i < 10; i++) {
      const [one, other] = await Promise.all([on.pod.timed(bad), on.pod.timed(good)]);
      expect([one.decision.decidedBy, other.decision.decidedBy]).toEqual(['local', 'store']);
      answers.push(one, other);
    }
    expectInTime(answers, DEADLINE_MS);
    // After five failures in a row no request is sent to the node.
    expect(await Promise.race([on.pod.ask(bad).then(({ decidedBy }) => decidedBy), nextTurn().then(nextTurn)])).toBe(
      'local',
    );
    expect(changes).toEqual([{ available: false, outageMs: 0, reason: expect.any(String), node }]);
    expect(on.pod.app.logs.of('warn').filter((line) => line.includes(node))).toHaveLength(1);
  }
  const since = performance.now();
  await until('the node decides again', LIMIT_MS, async () => (await on.pod.ask(bad)).decidedBy === 'store');
  const recoveryMs = performance.now() - since;
  expect(changes.map(({ available }) => available)).toEqual([false, true]);
  await on.pod.conclude('cluster: a node hangs, no replica takes over', { answers: timesOf(answers), recoveryMs });
});

it('the deadline falls between two slots: both charges are refunded', async () => {
  const owner = await on.cluster.masterOf('{global:all}');
  const other = (await on.cluster.masters()).find((node) => node !== owner)!;
  const user = await on.cluster.userOf(other, 'between');
  expect(await consume([MINE, ALL], user)).toMatchObject({ allowed: true, decidedBy: 'store' });
  const [mine, all] = [await taken(MINE, user), await taken(ALL)];
  const answers: number[] = [];
  {
    using _ = stopped(owner);
    for (let i = 0; i < 3; i++) {
      const { result, ms } = await measured(() => consume([MINE, ALL], user));
      expect(result).toMatchObject({ allowed: true, decidedBy: 'local' });
      answers.push(ms);
    }
    expect(await taken(MINE, user)).toBe(mine);
  }
  // The node executes the charges that were sent while it hung, and then their refunds.
  await until('the late charges are refunded', LIMIT_MS, async () => {
    await delay(10);
    const { decidedBy, policies } = await on.pod.limiter.peek(ALL, { kind: 'user', value: user });
    return decidedBy === 'store' && 100 - policies[0]!.remaining === all;
  });
  expect(await taken(MINE, user)).toBe(mine);
  const left = (await taken(MINE, user)) - mine + (await taken(ALL)) - all;
  // Above 0: charges without a refund. Below 0: refunds beyond the charges.
  record('cluster: the deadline falls between two slots', {
    answers,
    doubles: Math.max(0, left),
    overAdmissions: Math.max(0, -left),
  });
});

it('a rejection stands while a later policy lies on a node that hangs', async () => {
  const owner = await on.cluster.masterOf('{global:all}');
  const other = (await on.cluster.masters()).find((node) => node !== owner)!;
  const user = await on.cluster.userOf(other, 'rejected');
  const once: Policy = { ...MINE, name: 'once', limit: 1 };
  expect(await consume(once, user)).toMatchObject({ allowed: true, decidedBy: 'store' });
  using _ = stopped(owner);
  const decision = await consume([once, ALL], user);
  expect(decision).toMatchObject({ allowed: false, decidedBy: 'store' });
  expect(decision.policies).toMatchObject([
    { policy: 'once', allowed: false, remaining: 0 },
    { policy: 'all', allowed: true, remaining: 100 },
  ]);
});

it('a node that hangs loses its shards: the other shards admit their parts, and no more', async () => {
  const owners = await Promise.all(shardTags(6).map((tag) => on.cluster.masterOf(`{${tag}}`)));
  const [sick] = owners as [ClusterNode];
  const lost = owners.filter((owner) => owner === sick).length;
  using _ = stopped(sick);
  const decisions: Decision[] = [];
  for (let i = 0; i < 80; i++) decisions.push(await consume(SHARDED, 'anybody'));
  const admitted = decisions.filter(({ allowed, decidedBy }) => allowed && decidedBy === 'store');
  expect(admitted).toHaveLength(60 - 10 * lost);
  // Before the breaker opens, requests whose first shard is on the node wait until their deadline.
  expect(decisions.filter(({ decidedBy }) => decidedBy === 'local').length).toBeLessThanOrEqual(5 * lost);
});

it('a request is no failure of the store while the nodes of all its shards are unavailable: nothing is sent for it', async () => {
  const sharded: Policy = { ...ALL, name: 'pair', shards: 2 };
  const owners = new Set(await Promise.all(shardTags(2).map((tag) => on.cluster.masterOf(`{${tag}}`))));
  expect((await consume(sharded, 'anybody')).decidedBy).toBe('store');
  using _ = { [Symbol.dispose]: () => owners.forEach((node) => node.cont()) };
  for (const node of owners) node.stop();
  await until('the nodes are unavailable', LIMIT_MS, async () => {
    await consume(sharded, 'anybody');
    return changes.length === owners.size;
  });
  const { storeFailures } = on.pod.limiter.stats();
  const decisions = await Promise.all(Array.from({ length: 200 }, () => consume(sharded, 'anybody')));
  expect(decisions.map(({ decidedBy }) => decidedBy)).toEqual(decisions.map(() => 'local'));
  // Only probes count, one at a time.
  expect(on.pod.limiter.stats().storeFailures - storeFailures).toBeLessThan(5);
});
