import { RateLimitConfigError, shown } from '../../../util/config-error.js';
import { optionalPackageError } from '../../../util/optional-package.js';
import type { OwnedClient } from './client.js';
import { checkDatabase } from './database.js';
import {
  type MakeNodeRedis,
  type NodeRedis,
  type NodeRedisClusterOptions,
  type NodeRedisOptions,
  type NodeRedisSentinelOptions,
  prefixOf,
  PROMISED,
  PROMISED_SOCKET,
} from './node-redis.js';
import { isNodeRedisCluster, isNodeRedisSentinel, OwnedNodeRedis } from './node-redis-client.js';
import { NodeRedisCluster } from './node-redis-cluster.js';
import { ownedNodeRedisSentinel } from './node-redis-sentinel.js';
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
  const client = make({ url });
  const db = searchParams.get('db');
  return ownedSingle(client, db === null ? {} : { database: Number(db) });
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
  const { socket, ...given } = (options ?? {}) as Readonly<Record<string, unknown>> & { readonly socket?: object };
  // `connectTimeout` and `reconnectStrategy` hold, by other means.
  const { socketTimeout } = PROMISED_SOCKET;
  return [...differing(PROMISED, given), ...differing({ socketTimeout }, socket ?? {})];
}

/** What holds where nothing is given, if it is not undefined. Nobody misses notifications that nobody has asked for. */
const UNGIVEN: Readonly<Record<string, unknown>> = {
  disableOfflineQueue: false,
  readonly: false,
  maintNotifications: 'disabled',
};
/** What node-redis writes among the options itself. */
const WRITTEN = 'auto';

/** The promised values that differ from what was given. */
function differing(promised: object, given: object): string[] {
  return Object.entries(promised).flatMap(([name, value]) => {
    const had = (given as Readonly<Record<string, unknown>>)[name] ?? UNGIVEN[name];
    return had === value || had === WRITTEN ? [] : `${name}: ${String(value)}`;
  });
}

function ownedSingle(client: NodeRedis, more: { readonly database?: number } = {}): OwnedClient {
  // The client has read its URL when it was made.
  const options: NodeRedisOptions = client.options ?? {};
  return new OwnedNodeRedis({
    make: (link) =>
      client.duplicate({
        ...PROMISED,
        url: undefined,
        database: undefined,
        keyPrefix: undefined,
        socket: link.socketOf(options.socket),
      }),
    keyPrefix: prefixOf(options.keyPrefix),
    database: more.database ?? options.database ?? 0,
    reconnectStrategy: options.socket?.reconnectStrategy,
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

async function createClient(): Promise<MakeNodeRedis> {
  try {
    return (await import('redis')).createClient;
  } catch (error) {
    throw optionalPackageError(error, { name: 'redis', where: WHERE, versions: NODE_REDIS_VERSIONS });
  }
}
