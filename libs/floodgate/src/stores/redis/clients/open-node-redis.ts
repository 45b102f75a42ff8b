import { RateLimitConfigError, shown } from '../../../util/config-error.js';
import { optionalPackageError } from '../../../util/optional-package.js';
import type { OwnedClient } from './client.js';
import { checkDatabase } from './database.js';
import { differences } from './differences.js';
import { type CreateClient, type NodeRedis, prefixOf, PROMISED, promised } from './node-redis.js';
import { NodeRedisCluster, type NodeRedisClusterOptions } from './node-redis-cluster.js';
import { NodeRedisConnection } from './node-redis-connection.js';
import { type NodeRedisSentinelOptions, ownedNodeRedisSentinel } from './node-redis-sentinel.js';
import { hasMethods, isNodeRedisGroup, type NodeRedisClient } from './redis-client.js';

export const NODE_REDIS_VERSIONS = '^5.0.0 || ^6.0.0';

/**
 * Makes a client for a URL, without connecting.
 *
 * @param where how errors begin
 * @throws {RateLimitConfigError} when `redis` is not installed, or the URL has what node-redis does not read
 */
export async function openNodeRedis(url: string, where: string): Promise<OwnedClient> {
  const make = await createClient(where);
  checkDatabase(url, where);
  const [option] = new URL(url).searchParams.keys();
  if (option === undefined) return ownedSingle(make({ url }));
  throw new RateLimitConfigError(
    where,
    `the URL's ${shown(option)} is an option of ioredis, and node-redis opens the URL: give the database as in redis://host:6379/1, and others ` +
      `with a client, as in createClient({ url, ... })`,
    'FG_UNKNOWN_OPTION',
  );
}

/**
 * A client of the store's own, with the options of the application's client. Returns undefined for a client without `duplicate`:
 * a pool.
 *
 * @param where how errors begin
 * @throws {RateLimitConfigError} when the package `redis` cannot be loaded, which the nodes of a Cluster need
 */
export async function duplicateNodeRedis(client: NodeRedisClient, where: string): Promise<OwnedClient | undefined> {
  if (!hasMethods(client, ['duplicate'])) return undefined;
  if (!isNodeRedisGroup(client)) return ownedSingle(client as NodeRedis);
  const [options, create] = [optionsOf(client, where), await createClient(where)];
  return 'rootNodes' in options ? new NodeRedisCluster(options, create) : ownedNodeRedisSentinel(options, create);
}

/** The options in which the store's connections differ from those of the client, such as `disableOfflineQueue: true`. */
export function changedNodeRedisOptions(client: NodeRedisClient): string[] {
  if (!hasMethods(client, ['duplicate'])) return [];
  const all = isNodeRedisGroup(client) ? optionsOf(client, 'redis') : undefined;
  const options =
    all === undefined ? (client as NodeRedis).options : 'rootNodes' in all ? all.defaults : all.nodeClientOptions;
  return differences(PROMISED, { ...options?.socket, ...options }, true);
}

function ownedSingle(client: NodeRedis): OwnedClient {
  // The client has read its URL when it was made.
  const options = client.options ?? {};
  return new NodeRedisConnection(
    (signal) => client.duplicate({ ...promised(options, signal), url: undefined }),
    prefixOf(options.keyPrefix),
    options.database,
  );
}

/**
 * The options with which `createCluster` or `createSentinel` was called. Neither shows them, but `duplicate` passes them to the
 * constructor of the client that it makes, here to one that keeps them.
 */
function optionsOf(client: NodeRedisClient, where: string): NodeRedisClusterOptions | NodeRedisSentinelOptions {
  let kept: NodeRedisClusterOptions | NodeRedisSentinelOptions | undefined;
  class Keeper {
    constructor(options: NodeRedisClusterOptions | NodeRedisSentinelOptions) {
      kept = options;
    }
  }
  const layer = Object.create(client, { constructor: { value: Keeper } }) as object;
  (client as NodeRedis).duplicate.call(Object.create(layer) as NodeRedis, {});
  if (kept !== undefined) return kept;
  throw new RateLimitConfigError(
    where,
    `the options of the client cannot be read: this version of the package redis is not known. Install one of ${NODE_REDIS_VERSIONS}`,
  );
}

async function createClient(where: string): Promise<CreateClient> {
  try {
    return (await import('redis')).createClient;
  } catch (error) {
    throw optionalPackageError(error, { name: 'redis', where, versions: NODE_REDIS_VERSIONS });
  }
}
