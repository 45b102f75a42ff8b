import { expect, it, jest } from '@jest/globals';
import type { Policy } from 'nestjs-floodgate';
import { useClusterPod } from '../support/faults/cluster-fixture.js';
import type { ClusterNode } from '../support/faults/redis-cluster.js';

jest.setTimeout(60_000); // these tests run in real time, on a machine that may be busy

/** Above the default: the six servers of a Cluster share the machine with all other tests. */
const DEADLINE_MS = 250;
const MINE: Policy = { name: 'mine', algorithm: 'fixed-window', limit: 100, window: '300d' };
const ALL: Policy = { ...MINE, name: 'all', by: 'global', limit: 2 };

// No replica is promoted: a stopped node stays the owner of its slots until it resumes.
const on = useClusterPod(['--cluster-node-timeout', '60000'], { deadline: DEADLINE_MS });

/** Returns the name of a user whose key lies on the node (`isThere`), or on another node. */
async function userOf(node: ClusterNode, isThere: boolean): Promise<string> {
  for (let i = 0; ; i++) {
    if (((await on.cluster.masterOf(`{user:rider-${i}}`)) === node) === isThere) return `rider-${i}`;
  }
}

it('a cross-slot request of two policies counts as one request, in two calls', async () => {
  const user = { kind: 'user', value: await userOf(await on.cluster.masterOf('{global:all}'), false) };
  const before = on.pod.limiter.stats();
  for (let i = 0; i < 3; i++) await on.pod.limiter.consume([MINE, ALL], user);
  const after = on.pod.limiter.stats();
  expect(after).toMatchObject({ requests: before.requests + 3, allowed: 2, rejected: 1 });
  expect(after.policies).toMatchObject([
    { policy: 'mine', requests: 3, allowed: 2, rejected: 0 },
    { policy: 'all', requests: 3, allowed: 2, rejected: 1 },
  ]);
  expect(after.batchSizes.sum - before.batchSizes.sum).toBe(6);
});
