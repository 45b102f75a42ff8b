import { Cluster, type ClusterNode, Redis, type RedisOptions } from 'ioredis';
import { createClient, createCluster, createSentinel } from 'redis';
import type { RedisClient } from 'nestjs-floodgate';
import type { StoreClient } from '../../../libs/floodgate/src/stores/redis/clients/client.js';
import { NodeRedisCluster } from '../../../libs/floodgate/src/stores/redis/clients/node-redis-cluster.js';

type Options = NonNullable<Parameters<typeof createClient>[0]>;
type Socket = NonNullable<Options['socket']>;

/** The options of node-redis that say what these options of ioredis say. */
export function optionsAsNodeRedis(options: RedisOptions): Options {
  const { host, port, path, family, tls, username, password, db, keyPrefix, connectionName } = options;
  const { connectTimeout, protocol, lazyConnect: _ } = options;
  const given = {
    username,
    password,
    database: db,
    keyPrefix: keyPrefix ?? undefined,
    name: connectionName,
    ...(protocol !== undefined && { RESP: protocol }),
  };
  const socket = {
    ...(path ? { path } : { host: host || undefined, port, family }),
    ...(tls && { tls: true, ...tls }),
    connectTimeout,
  };
  return { ...defined(given), socket: defined(socket) as Socket };
}

/** A client of node-redis for what ioredis is given: not connected, except by the store. */
export function asNodeRedis(redis: Redis | Cluster | RedisOptions): RedisClient {
  if (redis instanceof Cluster) return quiet(createCluster(clusterOptions(redis)));
  const options = redis instanceof Redis ? redis.options : redis;
  if (!options.sentinels) return quiet(createClient(optionsAsNodeRedis(options)));
  const natMap = options.natMap as Record<string, { host: string; port: number }> | undefined;
  return quiet(
    createSentinel({
      name: options.name!,
      sentinelRootNodes: options.sentinels.map(({ host, port }) => ({ host: host!, port: port! })),
      nodeClientOptions: optionsAsNodeRedis({ ...options, host: undefined, port: undefined }),
      ...(natMap && { nodeAddressMap: natMap }),
    }),
  );
}

/** A client of node-redis that connects, and ends when the client of ioredis does. */
export function connectedTwin(client: Redis): RedisClient {
  const twin = asNodeRedis(client) as unknown as Twin;
  const connected = twin.connect().catch(() => undefined);
  client.once('end', () => void connected.then(() => twin.destroy()));
  return twin as unknown as RedisClient;
}

interface Twin {
  connect(): Promise<unknown>;
  destroy(): void;
}

/**
 * The store's own client of the Cluster, which ends when the client of ioredis does: a `RedisStore` takes no `createCluster`. It queues
 * nothing while it reads the slots.
 */
export function connectedCluster(cluster: Cluster): StoreClient {
  const own = new NodeRedisCluster(clusterOptions(cluster), createClient);
  const connected = own.connect().catch(() => undefined);
  cluster.once('end', () => own.destroy());
  const send = own.send.bind(own);
  own.send = async (...args) => {
    await connected;
    return send(...args);
  };
  return own;
}

function clusterOptions(cluster: Cluster): Parameters<typeof createCluster>[0] {
  const { options, startupNodes } = cluster as unknown as {
    readonly options: { readonly redisOptions?: RedisOptions; readonly natMap?: unknown; readonly keyPrefix?: string };
    readonly startupNodes: readonly ClusterNode[];
  };
  const rootNodes = startupNodes.map((node) =>
    typeof node === 'object' ? { socket: { host: node.host, port: node.port } } : { url: `redis://${node}` },
  );
  const natMap = options.natMap as Record<string, { host: string; port: number }> | undefined;
  return {
    rootNodes,
    defaults: optionsAsNodeRedis(options.redisOptions ?? {}),
    ...(natMap && { nodeAddressMap: natMap }),
    ...(options.keyPrefix && { keyPrefix: options.keyPrefix }),
  };
}

interface EventSource {
  on(event: 'error', listener: () => void): unknown;
}

function quiet<T extends EventSource>(client: T): T & RedisClient {
  client.on('error', () => undefined); // Tests kill servers.
  return client as T & RedisClient;
}

function defined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
