import { expect, it } from '@jest/globals';
import { expectInTime, timesOf } from '../support/faults/arrivals.js';
import type { Answer } from '../support/faults/pod.js';
import { useClusterPod } from '../support/faults/cluster-fixture.js';
import type { ClusterNode } from '../support/faults/redis-cluster.js';
import { until } from '../support/faults/until.js';

/** More than the default: six servers of a Cluster share the machine. */
const DEADLINE_MS = 250;
const LIMIT_MS = 20_000;

const on = useClusterPod(['--cluster-require-full-coverage', 'yes'], { deadline: DEADLINE_MS });

const isOk = async ({ client: node }: ClusterNode): Promise<boolean> =>
  (await node.cluster('INFO')).includes('cluster_state:ok');

it.each<[string, () => Promise<ClusterNode[]>]>([
  [
    'a master and its replica',
    async () => {
      const [master] = (await on.cluster.masters()) as [ClusterNode];
      return [master, await on.cluster.replicaOf(master)];
    },
  ],
  ['the majority of the masters', async () => (await on.cluster.masters()).slice(0, 2)],
])(
  'CLUSTERDOWN while %s hang: every user is decided locally in time, and by Redis when the Cluster is up',
  async (what, lost) => {
    const users = await Promise.all(
      (await on.cluster.masters()).map((master) => on.cluster.userOf(master, `down-${what.length}`)),
    );
    for (const user of users) await on.pod.ask(user);
    const sick = await lost();
    const healthy = on.cluster.nodes.filter((node) => !sick.includes(node));
    const answers: Answer[] = [];
    const askAll = async (): Promise<Answer[]> => {
      const asked = await Promise.all([...users.map((user) => on.pod.timed(user)), on.pod.timedOnce()]);
      answers.push(...asked);
      return asked;
    };
    {
      await using _ = { [Symbol.asyncDispose]: async () => sick.forEach((node) => node.cont()) };
      for (const node of sick) node.stop();
      await until('the cluster is down', LIMIT_MS, async () => {
        await askAll();
        return !(await Promise.all(healthy.map(isOk))).includes(true);
      });
      for (let i = 0; i < 20; i++) {
        const asked = await askAll();
        expect(asked.map(({ decision }) => decision.decidedBy)).toEqual(asked.map(() => 'local'));
      }
      expectInTime(answers, DEADLINE_MS);
      expect(on.pod.app.logs.text).toContain('CLUSTERDOWN');
    }
    await on.cluster.settled();
    const since = performance.now();
    await until('Redis decides for all users', LIMIT_MS, async () =>
      (await askAll()).every(({ decision }) => decision.decidedBy === 'store'),
    );
    const recoveryMs = performance.now() - since;
    // When both continue, the replica may take over without its master's last writes.
    await on.pod.conclude(
      `cluster: CLUSTERDOWN, ${what} hang`,
      { answers: timesOf(answers), recoveryMs },
      { limits: 2 },
    );
  },
);
