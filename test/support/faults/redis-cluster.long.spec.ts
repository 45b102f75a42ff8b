import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { Cluster } from 'ioredis';
import { type ClusterNode, RedisCluster } from './redis-cluster.js';
import { until } from './until.js';

jest.setTimeout(30_000); // it is real time, and the machine may be busy

let cluster: RedisCluster;
let client: Cluster;

beforeAll(async () => {
  cluster = await RedisCluster.start();
});

beforeEach(() => {
  client = new Cluster(cluster.addresses, {
    clusterRetryStrategy: () => 20,
    retryDelayOnClusterDown: 20,
    // Without it the client waits for the stopped node instead of asking another node for the new owner.
    redisOptions: { commandTimeout: 500, socketTimeout: 300, disconnectTimeout: 50 },
  });
  client.on('error', () => undefined);
});

afterEach(() => client.disconnect());

afterAll(() => cluster.stop());

it('forms three masters that share the slots, and a replica of each that is in sync', async () => {
  const masters = await cluster.masters();
  expect(masters).toHaveLength(3);
  const replicas = await Promise.all(masters.map((master) => cluster.replicaOf(master)));
  expect(new Set([...masters, ...replicas])).toEqual(new Set(cluster.nodes));
  const owners = await Promise.all([0, 5460, 5461, 10_921, 10_922, 16_383].map((slot) => cluster.ownerOf(slot)));
  expect(owners).toEqual(masters.flatMap((master) => [master, master]));
  for (const master of masters) {
    const key = `{${await cluster.tagOf(master)}}formed`;
    expect(await cluster.masterOf(key)).toBe(master);
    await client.set(key, 'value');
    expect(await master.client.get(key)).toBe('value');
    expect(await master.client.wait(1, 1000)).toBe(1);
  }
});

it('moves a slot step by step, with ASK while it is under way and MOVED after', async () => {
  const [from, to] = (await cluster.masters()) as [ClusterNode, ClusterNode];
  const tag = `{${await cluster.tagOf(from)}}`;
  const slot = await cluster.slotOf(tag);
  await client.mset(`${tag}1`, 'one', `${tag}2`, 'two');
  const migration = await cluster.migration(slot, from, to);
  await migration.open();
  expect(await from.client.get(`${tag}1`)).toBe('one');
  await expect(from.client.get(`${tag}new`)).rejects.toThrow(`ASK ${slot} 127.0.0.1:${to.port}`);
  await expect(to.client.get(`${tag}new`)).rejects.toThrow(`MOVED ${slot} 127.0.0.1:${from.port}`);
  expect(await migration.moveKeys(1)).toBe(1);
  await expect(from.client.mget(`${tag}1`, `${tag}2`)).rejects.toThrow('TRYAGAIN');
  expect(await Promise.all([client.get(`${tag}1`), client.get(`${tag}2`)])).toEqual(['one', 'two']);
  await migration.close();
  await expect(from.client.get(`${tag}1`)).rejects.toThrow(`MOVED ${slot} 127.0.0.1:${to.port}`);
  expect(await client.mget(`${tag}1`, `${tag}2`)).toEqual(['one', 'two']);
  expect(await cluster.ownerOf(slot)).toBe(to);
  await cluster.migrateSlot(slot, to, from);
  expect(await cluster.masterOf(tag)).toBe(from);
  expect(await client.mget(`${tag}1`, `${tag}2`)).toEqual(['one', 'two']);
  await cluster.settled();
});

it.each<[string, (node: ClusterNode) => void | Promise<void>, (node: ClusterNode) => void | Promise<void>]>([
  ['killed', (node) => node.kill(), (node) => node.restart()],
  ['stopped', (node) => node.stop(), (node) => node.cont()],
])('replaces a master that was %s by its replica, whose replica it is once it is back', async (_, end, back) => {
  const [master, healthy] = (await cluster.masters()) as [ClusterNode, ClusterNode];
  const replica = await cluster.replicaOf(master);
  const tag = `{${await cluster.tagOf(master)}}`;
  const elsewhere = `{${await cluster.tagOf(healthy)}}`;
  await client.set(tag, 'kept');
  expect(await master.client.wait(1, 1000)).toBe(1);
  await end(master);
  expect(await client.set(elsewhere, 'unaffected')).toBe('OK');
  await cluster.settled();
  expect(await cluster.masterOf(tag)).toBe(replica);
  expect(await until('the client has followed', 5000, () => client.get(tag))).toBe('kept');
  await back(master);
  await cluster.settled();
  expect(await cluster.replicaOf(replica)).toBe(master);
});
