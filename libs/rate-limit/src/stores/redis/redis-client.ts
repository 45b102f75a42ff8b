import { RateLimitConfigError } from '../../policy/config-error.js';
import type { RedisOptions } from 'ioredis';

/** What the store needs of a client: ioredis's `Redis` and `Cluster` have it. */
export interface RedisClient {
  evalsha(sha1: string, keys: number, ...args: string[]): Promise<unknown>;
  eval(script: string, keys: number, ...args: string[]): Promise<unknown>;
  del(key: string): Promise<unknown>;
  /** Whether keys of one call must share a hash slot. */
  readonly isCluster?: boolean;
  readonly options?: { readonly keyPrefix?: string };
}

/** A client that was opened here. */
export interface OwnedRedisClient extends RedisClient {
  /** `'ready'` when it can be asked. */
  readonly status: string;
  info(section: string): Promise<string>;
  connect(): Promise<void>;
  quit(): Promise<unknown>;
  disconnect(): void;
  /** Of a client that is not a Cluster's: the connection. */
  readonly stream?: { readonly bytesRead: number; destroy(error: Error): unknown };
  /** Of a Cluster: the nodes that have a slot, its master first. */
  readonly slots?: readonly (readonly string[] | undefined)[];
  /** Of a Cluster: asks it anew who has which slots. */
  refreshSlotsCache?(): void;
  on(event: 'error' | 'connecting' | 'connect' | 'close' | 'ready', listener: (error: Error) => void): unknown;
}

export type { RedisOptions };

/** Whether `value` is a ready client, by what it can do: two copies of ioredis in a tree have two classes. */
export function isRedisClient(value: unknown): value is RedisClient {
  if (typeof value !== 'object' || value === null) return false;
  const client = value as Record<string, unknown>;
  return typeof client.evalsha === 'function' && typeof client.eval === 'function' && typeof client.del === 'function';
}

const MAX_BACKOFF_MS = 250;

/** Nobody's to choose: nothing is queued for a server that is away, and nothing is sent twice, as the first may be charged. */
const PROMISED: RedisOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  lazyConnect: true,
  stringNumbers: false,
  // A master that was demoted: behind its name another one may answer. (True: nothing is resent.)
  reconnectOnError: (error) => error.message.startsWith('READONLY'),
};

/** What stands unless the module's `redis` options say otherwise. */
const DEFAULTS: RedisOptions = {
  connectTimeout: 1000,
  disconnectTimeout: 200,
  // How long a server says that it will still load (up to ten seconds are believed) is a guess.
  maxLoadingRetryTime: 100,
  // A server that accepts and never answers would otherwise be sent to for ever, and every question kept.
  socketTimeout: 1000,
  // ioredis never settles what was in flight when a connection was lost; nobody waits for it, but it is to be let go.
  commandTimeout: 2000,
  // Of Sentinel: a master that was replaced is left at once; what it acknowledges after that is lost.
  failoverDetector: true,
  keepAlive: 10_000,
  retryStrategy: (attempt) => Math.random() * Math.min(MAX_BACKOFF_MS, attempt * 50),
};

const OPTIONS: RedisOptions = { ...DEFAULTS, ...PROMISED };

/**
 * Opens a client for a URL or ioredis options, without connecting. ioredis is loaded here and only here: who hands in a
 * client, or needs none, need not install it.
 *
 * @throws {RateLimitConfigError} when ioredis is not installed
 */
export async function openRedis(redis: string | RedisOptions): Promise<OwnedRedisClient> {
  const { Redis } = await import('ioredis').catch(() => {
    throw new RateLimitConfigError('RateLimitModule', 'redis needs the package ioredis: npm install ioredis@6');
  });
  return typeof redis === 'string' ? new Redis(redis, OPTIONS) : new Redis({ ...DEFAULTS, ...redis, ...PROMISED });
}

/** Of a Cluster: what was sent to a node that is gone, or to a Cluster that is down, is not sent again. */
const CLUSTER_OPTIONS = {
  lazyConnect: true,
  // Else a redirection to a node that is not connected yet fails.
  enableOfflineQueue: true,
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  maxRedirections: 5,
  slotsRefreshTimeout: 1000,
  clusterRetryStrategy: (attempt: number) => Math.random() * Math.min(MAX_BACKOFF_MS, attempt * 50),
};

/**
 * A client of the same server or Cluster with the options above, or undefined where there is none to be had (a client that
 * only looks like one may have none). ioredis's defaults queue without bound, and resend what may have been charged.
 */
export function duplicateRedis(client: RedisClient): OwnedRedisClient | undefined {
  const { duplicate, options } = client as {
    duplicate?: (...args: unknown[]) => OwnedRedisClient;
    options?: { redisOptions?: RedisOptions };
  };
  if (typeof duplicate !== 'function') return undefined;
  if (client.isCluster !== true) return duplicate.call(client, OPTIONS);
  const { lazyConnect: _, ...redisOptions } = { ...options?.redisOptions, ...OPTIONS };
  return duplicate.call(client, [], { ...CLUSTER_OPTIONS, redisOptions });
}

/** In what the duplicate differs from the client that was handed in: `maxRetriesPerRequest: 0`, functions by their names. */
export function changedOptions(client: RedisClient): string[] {
  const { options = {} } = client as { options?: RedisOptions & { redisOptions?: RedisOptions } };
  const changed = (wanted: object, given: object): string[] =>
    Object.entries(wanted)
      .filter(([name, value]) => (given as Record<string, unknown>)[name] !== value)
      .map(([name, value]) => (typeof value === 'function' ? name : `${name}: ${value}`));
  const { lazyConnect: _, ...promised } = OPTIONS;
  if (client.isCluster !== true) return changed(promised, options);
  const { lazyConnect: __, ...cluster } = CLUSTER_OPTIONS;
  return [...changed(cluster, options), ...changed(promised, options.redisOptions ?? {})];
}
