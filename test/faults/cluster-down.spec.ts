import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { Cluster } from 'ioredis';
import { timesOf } from '../support/faults/arrivals.js';
import { type Answer, Pod } from '../support/faults/pod.js';
import { type ClusterNode, RedisCluster } from '../support/faults/redis-cluster.js';
import { until } from '../support/faults/until.js';

jest.setTimeout(60_000); // it is real time, and the machine may be busy

/** More than the default: six servers of a Cluster share the machine with all other tests. */
const DEADLINE_MS = 250;
const LATE_MS = 250;
const DOWN_MS = 10_000;

let cluster: RedisCluster;
let client: Cluster;
let pod: Pod;

beforeAll(async () => {
  cluster = await RedisCluster.start(['--cluster-require-full-coverage', 'yes']);
});

afterAll(() => cluster.stop());

beforeEach(async () => {
  await cluster.settled();
  client = new Cluster(cluster.addresses);
  client.on('error', () => undefined);
  pod = await Pod.start({ redis: client, deadlineMs: DEADLINE_MS });
  await pod.recovered();
});

afterEach(async () => {
  await pod.app.close();
  client.disconnect();
});

const isOk = async ({ client: node }: ClusterNode): Promise<boolean> =>
  (await node.cluster('INFO')).includes('cluster_state:ok');

it.each<[string, () => Promise<ClusterNode[]>]>([
  [
    'a master and its replica',
    async () => {
      const [master] = (await cluster.masters()) as [ClusterNode];
      return [master, await cluster.replicaOf(master)];
    },
  ],
  ['the majority of the masters', async () => (await cluster.masters()).slice(0, 2)],
])('CLUSTERDOWN, as %s hang: every user is decided locally in time, and by Redis once it is up', async (what, lost) => {
  const users = await Promise.all(
    (await cluster.masters()).map((master) => cluster.userOf(master, `down-${what.length}`)),
  );
  for (const user of users) expect((await pod.ask(user)).decidedBy).toBe('store');
  const sick = await lost();
  const healthy = cluster.nodes.filter((node) => !sick.includes(node));
  const answers: Answer[] = [];
  const askAll = async (): Promise<Answer[]> => {
    const asked = await Promise.all([...users.map((user) => pod.timed(user)), pod.timedOnce()]);
    answers.push(...asked);
    return asked;
  };
  {
    await using _ = { [Symbol.asyncDispose]: async () => sick.forEach((node) => node.cont()) };
    for (const node of sick) node.stop();
    await until('the cluster is down', DOWN_MS, async () => {
      await askAll();
      return !(await Promise.all(healthy.map(isOk))).includes(true);
    });
    for (let i = 0; i < 20; i++) {
      const asked = await askAll();
      expect(asked.map(({ decision }) => decision.decidedBy)).toEqual(asked.map(() => 'local'));
    }
    for (const { ms } of answers) expect(ms).toBeLessThan(DEADLINE_MS + LATE_MS);
    expect(pod.app.logs.text).toContain('CLUSTERDOWN');
  }
  await cluster.settled();
  const since = performance.now();
  await until('Redis decides for all', DOWN_MS, async () =>
    (await askAll()).every(({ decision }) => decision.decidedBy === 'store'),
  );
  const recoveryMs = performance.now() - since;
  // When both go on a replica may take over without the last of what its master had.
  await pod.conclude(`cluster: CLUSTERDOWN, ${what} hang`, { answers: timesOf(answers), recoveryMs }, { limits: 2 });
});
