import { expect, it } from '@jest/globals';
import { Cluster } from 'ioredis';
import type { Policy } from 'nestjs-floodgate';
import { RedisStore } from '../../libs/floodgate/src/stores/redis/redis.store.js';
import { receiptsOf } from '../../libs/floodgate/src/stores/receipt.js';
import type { Charge } from '../../libs/floodgate/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { slotOf } from '../../libs/floodgate/src/stores/slots.js';
import { callsOf } from '../support/faults/by-node.js';
import { useCluster } from '../support/faults/cluster-fixture.js';
import { Pod } from '../support/faults/pod.js';
import { untilByNode } from '../support/faults/until-by-node.js';
import { until } from '../support/faults/until.js';

const PROBED_MS = 20_000;
const DEADLINE_MS = 10_000;
const POLICY: Policy = { name: 'once', algorithm: 'fixed-window', limit: 1, window: '300d' };

const on = useCluster();

const sumOf = async (command: string): Promise<number> =>
  (await Promise.all(on.cluster.nodes.map(({ client }) => callsOf(client, command)))).reduce((sum, one) => sum + one);

const RIGHTS =
  'evalsha eval time mget exists set del llen lindex rpush ltrim expireat pexpire info cluster|slots cluster|info';

/** Gives the user of a pod these rights on all nodes. */
async function grant(rights: string): Promise<void> {
  const granted = rights.split(' ').map((right) => `+${right}`);
  const user = ['floodgate', 'reset', 'on', '>secret', '~rl:*', '-@all', ...granted];
  await Promise.all(on.cluster.nodes.map(({ client }) => client.call('ACL', 'SETUSER', ...user)));
}

async function startPod(): Promise<Pod> {
  const client = new Cluster(on.cluster.addresses, {
    lazyConnect: true, // the module uses only a duplicate of it
    redisOptions: { username: 'floodgate', password: 'secret' },
  });
  const pod = await Pod.start({ redis: client, deadline: DEADLINE_MS });
  await pod.recovered();
  return pod;
}

/** Asks twice for each of many users of all nodes at once: one of the two requests passes. */
async function askOnce(pod: Pod, name: string): Promise<void> {
  const users = Array.from({ length: 60 }, (_, i) => ({ kind: 'user', value: `${name}-${i}` }));
  const decisions = await Promise.all([...users, ...users].map((user) => pod.limiter.consume(POLICY, user)));
  expect(decisions.map(({ decidedBy }) => decidedBy)).toEqual(decisions.map(() => 'store'));
  expect(decisions.map(({ allowed }) => allowed)).toEqual(decisions.map((_, i) => i < users.length));
}

const warningsOf = (pod: Pod): string[] => pod.app.logs.of('warn').filter((line) => line.includes('lets no script'));

/** Whether 120 requests take a call for each node, not for each slot. */
async function isByNode(pod: Pod, name: string): Promise<boolean> {
  const before = await sumOf('evalsha');
  await askOnce(pod, name);
  return (await sumOf('evalsha')) - before < 20;
}

it('nodes that forbid undeclared keys are asked by slot, with one warning, until they allow it', async () => {
  await grant(RIGHTS);
  await using pod = await startPod();
  await until('the nodes are probed', PROBED_MS, () => Promise.resolve(warningsOf(pod).length > 0));
  expect(await isByNode(pod, 'forbidden')).toBe(false);
  expect(warningsOf(pod)).toHaveLength(1);
  expect(warningsOf(pod)[0]).toContain(
    "lets no script read keys in several slots, so each slot takes a call of its own: UNDECLARED ERR The user executing the script can't run this command or subcommand",
  );
  await grant(`${RIGHTS} get`);
  await Promise.all(on.cluster.nodes.map(({ client }) => client.call('CLIENT', 'KILL', 'USER', 'floodgate')));
  await pod.recovered(PROBED_MS);
  let i = 0;
  await until('the nodes are asked for all their slots', PROBED_MS, () => isByNode(pod, `allowed-${i++}`));
});

it('a forgotten script is sent to its node again; a right that is withdrawn costs no request its decision, and charges none twice', async () => {
  await grant(`${RIGHTS} get`);
  await using pod = await startPod();
  let i = 0;
  await until('the nodes are asked for all their slots', PROBED_MS, () => isByNode(pod, `before-${i++}`));
  await Promise.all(on.cluster.nodes.map(({ client }) => client.script('FLUSH')));
  expect(await isByNode(pod, 'forgotten')).toBe(true);
  await grant(RIGHTS);
  for (let round = 0; round < 3; round++) await askOnce(pod, `withdrawn-${round}`);
  expect(warningsOf(pod)).toHaveLength(1);
});

it('a log that outgrows its text, or loses an entry, while its slot moves keeps all its entries', async () => {
  const masters = await on.cluster.masters();
  const store = new RedisStore(on.client);
  await untilByNode(store, masters);
  const algorithm = algorithmOf({ algorithm: 'sliding-window-log', limit: 300, window: '300d' });
  const charge = (cost: number): Charge[] => [{ key: '{log}:moving', algorithm, cost }];
  const slot = slotOf('{log}');
  const from = await on.cluster.ownerOf(slot);
  const migration = await on.cluster.migration(
    slot,
    from,
    masters.find((node) => node !== from)!,
  );
  const verdict = await store.consume(charge(100));
  await migration.open();
  expect(await from.client.exists('{log}:moving')).toBe(1);
  for (const cost of [100, 50]) expect((await store.consume(charge(cost))).allowed).toBe(true);
  expect((await store.consume(charge(51))).charges[0]!.remaining).toBe(50);
  const [taken] = receiptsOf(charge(100), verdict);
  await store.refund([{ ...taken!, cost: 100 }]);
  expect((await store.consume(charge(150))).allowed).toBe(true);
  expect((await store.consume(charge(1))).allowed).toBe(false);
  await migration.close();
  expect((await store.consume(charge(1))).allowed).toBe(false);
});

it.each([
  ['of the client', { keyPrefix: 'shop:' }],
  ['of its nodes', { redisOptions: { keyPrefix: 'shop:' } }],
])('a key prefix %s stands before every key', async (_, options) => {
  const client = new Cluster(on.cluster.addresses, options);
  try {
    const store = new RedisStore(client);
    await untilByNode(store, await on.cluster.masters());
    const algorithm = algorithmOf({ algorithm: 'fixed-window', limit: 1, window: '300d' });
    const keys = Array.from({ length: 60 }, (__, i) => `{prefixed-${i}}`);
    await Promise.all(on.cluster.nodes.map(({ client: admin }) => admin.flushdb().catch(() => undefined)));
    const before = await sumOf('evalsha');
    const verdicts = await Promise.all(keys.map((key) => store.consume([{ key, algorithm, cost: 1 }])));
    expect(verdicts.every(({ allowed }) => allowed)).toBe(true);
    expect((await sumOf('evalsha')) - before).toBeLessThan(10);
    const stored = await Promise.all((await on.cluster.masters()).map(({ client: admin }) => admin.keys('*')));
    expect(stored.flat().toSorted()).toEqual(keys.map((key) => `shop:${key}`).toSorted());
  } finally {
    client.disconnect();
  }
});
