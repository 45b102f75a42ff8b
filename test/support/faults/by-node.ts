import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { RedisStore, type RedisStoreOptions } from '../../../libs/floodgate/src/stores/redis/redis.store.js';
import type { Charge, RateLimitStore, Verdict } from '../../../libs/floodgate/src/stores/store.js';
import { loadPrograms } from '../programs.js';
import { RedisServer } from '../redis-server.js';
import { untilByNode } from './until-by-node.js';
import { until } from './until.js';

const FORMED_MS = 15_000;

interface StoreOnceReady extends RateLimitStore {
  consume(charges: readonly Charge[]): Promise<Verdict>;
}

/** A store that decides nothing before `ready`. */
export function after(ready: Promise<unknown>, store: RedisStore): StoreOnceReady {
  return {
    supports: store.supports,
    consume: (charges: readonly Charge[]): Promise<Verdict> => ready.then(() => store.consume(charges)),
    reset: (keys) => ready.then(() => store.reset(keys)),
    refund: (receipts) => ready.then(() => store.refund(receipts)),
    settle: (settlements) => ready.then(() => store.settle(settlements)),
  };
}

/** A Cluster of one node that has all slots, for the file that calls this; emptied before every test. */
export interface OneNode {
  readonly server: RedisServer;
  readonly client: Cluster;
  /** A connection to the node itself. */
  readonly admin: Redis;
  /** A store that asks the node for all its slots, in every call. */
  readonly open: (options: RedisStoreOptions) => StoreOnceReady;
}

/** A server that serves all slots of a Cluster, which it alone is. */
export async function clusterOfOne(): Promise<RedisServer> {
  const server = await RedisServer.start({
    args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'],
  });
  const admin = new Redis(server.url);
  await admin.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await until('the cluster is ready', FORMED_MS, async () =>
    (await admin.cluster('INFO')).includes('cluster_state:ok'),
  );
  admin.disconnect();
  return server;
}

export function useOneNode(): OneNode {
  let server: RedisServer;
  let client: Cluster;
  let admin: Redis;
  beforeAll(async () => {
    server = await clusterOfOne();
    admin = new Redis(server.url);
    await loadPrograms(admin);
    client = new Cluster([{ host: server.host, port: server.port }]);
  });
  beforeEach(async () => void (await admin.flushdb()));
  afterAll(async () => {
    client.disconnect();
    admin.disconnect();
    await server.stop();
  });
  return {
    get server() {
      return server;
    },
    get client() {
      return client;
    },
    get admin() {
      return admin;
    },
    open: (options) => {
      const store = new RedisStore(client, options);
      return after(untilByNode(store, [server]), store);
    },
  };
}

/** How often a server ran a command, in scripts or outside. */
export async function callsOf(admin: Redis, command: string): Promise<number> {
  const stats = await admin.info('commandstats');
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
}
