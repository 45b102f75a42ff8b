import { RateLimitConfigError, shown } from '../../../util/config-error.js';
import { optionalPackageError } from '../../../util/optional-package.js';
import type { OwnedClient } from './client.js';
import { checkDatabase } from './database.js';
import { type CreateClient, type NodeRedis, prefixOf } from './node-redis.js';
import { NodeRedisCluster, type NodeRedisClusterOptions } from './node-redis-cluster.js';
import { NodeRedisConnection, promised, PROMISED, PROMISED_SOCKET } from './node-redis-connection.js';
import { isNodeRedisCluster, isNodeRedisSentinel } from './node-redis-given.js';
import { type NodeRedisSentinelOptions, ownedNodeRedisSentinel } from './node-redis-sentinel.js';
import { hasMethods, type NodeRedisClient } from './redis-client.js';

const WHERE = 'RateLimitModule, redis';
export const NODE_REDIS_VERSIONS = '^5.0.0 || ^6.0.0';

/**
 * Makes a client for a URL, without connecting.
 *
 * @throws {RateLimitConfigError} when `redis` is not installed, or the URL has what node-redis does not read
 */
export async function openNodeRedis(url: string): Promise<OwnedClient> {
  const make = await createClient();
  checkDatabase(url);
  const { searchParams } = new URL(url);
  const unknown = [...searchParams.keys()].find((name) => name !== 'db');
  if (unknown !== undefined) {
    throw new RateLimitConfigError(
      WHERE,
      `the URL's ${shown(unknown)} is an option of ioredis, and node-redis opens the URL: give a client, as in createClient({ url, ... })`,
      'FG_UNKNOWN_OPTION',
    );
  }
  return ownedSingle(make({ url }), Number(searchParams.get('db')));
}

/**
 * A client of the store's own, with the options of the application's client. Returns undefined for a client without `duplicate`:
 * a pool, and a `createSentinel` of version 5.
 *
 * @throws {RateLimitConfigError} when the package `redis` cannot be loaded, which the nodes of a Cluster need
 */
export async function duplicateNodeRedis(client: NodeRedisClient): Promise<OwnedClient | undefined> {
  if (!hasMethods(client, ['duplicate'])) return undefined;
  if (isNodeRedisCluster(client)) {
    return new NodeRedisCluster(optionsOf(client) as NodeRedisClusterOptions, await createClient());
  }
  if (isNodeRedisSentinel(client)) {
    return ownedNodeRedisSentinel(optionsOf(client) as NodeRedisSentinelOptions, await createClient());
  }
  return ownedSingle(client as NodeRedis);
}

/** The options in which the store's connections differ from those of the client, such as `disableOfflineQueue: true`. */
export function changedNodeRedisOptions(client: NodeRedisClient): string[] {
  if (!hasMethods(client, ['duplicate'])) return [];
  const options = isNodeRedisCluster(client)
    ? (optionsOf(client) as NodeRedisClusterOptions).defaults
    : isNodeRedisSentinel(client)
      ? (optionsOf(client) as NodeRedisSentinelOptions).nodeClientOptions
      : (client as NodeRedis).options;
  const given: Readonly<Record<string, unknown>> = { ...UNGIVEN, ...options?.socket, ...options };
  // node-redis writes `auto` itself. `reconnectStrategy` holds, by other means.
  return Object.entries({ ...PROMISED, ...PROMISED_SOCKET })
    .filter(([name, value]) => given[name] !== value && given[name] !== 'auto')
    .map(([name, value]) => `${name}: ${String(value)}`);
}

/** What holds where nothing is given. Nobody misses notifications that nobody has asked for. */
const UNGIVEN = { disableOfflineQueue: false, readonly: false, maintNotifications: 'disabled' };

function ownedSingle(client: NodeRedis, database?: number): OwnedClient {
  // The client has read its URL when it was made.
  const options = client.options ?? {};
  return new NodeRedisConnection({
    make: (signal) => client.duplicate({ ...promised(options, signal), url: undefined }),
    keyPrefix: prefixOf(options.keyPrefix),
    database: database || options.database,
    socket: options.socket,
  });
}

/**
 * The options with which `createCluster` or `createSentinel` was called. Neither shows them, but `duplicate` passes them to the
 * constructor of the client that it makes, here to one that keeps them.
 */
function optionsOf(client: NodeRedisClient): object {
  let kept: object | undefined;
  class Keeper {
    constructor(options: object) {
      kept = options;
    }
  }
  const layer = Object.create(client, { constructor: { value: Keeper } }) as object;
  (client as unknown as NodeRedis).duplicate.call(Object.create(layer) as NodeRedis, {});
  if (kept === undefined) {
    throw new RateLimitConfigError(
      WHERE,
      `the options of the client cannot be read: this version of the package redis is not known. Install one of ${NODE_REDIS_VERSIONS}`,
      'FG_INVALID_OPTION',
    );
  }
  return kept;
}

/** Whether the package `redis` can be loaded. */
export async function isNodeRedisInstalled(): Promise<boolean> {
  try {
    await createClient();
    return true;
  } catch {
    return false;
  }
}

async function createClient(): Promise<CreateClient> {
  try {
    return (await import('redis')).createClient;
  } catch (error) {
    throw optionalPackageError(error, { name: 'redis', where: WHERE, versions: NODE_REDIS_VERSIONS });
  }
}
