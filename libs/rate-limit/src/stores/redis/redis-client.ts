import type { ClusterNode, ClusterOptions, RedisOptions } from 'ioredis';

/** What the store needs of a client: ioredis's `Redis` and `Cluster` have it. */
export interface RedisClient {
  evalsha(sha1: string, keys: number, ...args: string[]): Promise<unknown>;
  eval(script: string, keys: number, ...args: string[]): Promise<unknown>;
  del(key: string): Promise<unknown>;
}

/** A client that was opened here. */
export interface OwnedRedisClient extends RedisClient {
  connect(): Promise<void>;
  quit(): Promise<unknown>;
  disconnect(): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
}

export type { ClusterNode, ClusterOptions, RedisOptions };

/** Whether `value` is a ready client, by what it can do: two copies of ioredis in a tree have two classes. */
export function isRedisClient(value: unknown): value is RedisClient {
  if (typeof value !== 'object' || value === null) return false;
  const client = value as Record<string, unknown>;
  return typeof client.evalsha === 'function' && typeof client.eval === 'function' && typeof client.del === 'function';
}

const MAX_BACKOFF_MS = 250;

/**
 * Chosen so that a request is answered rather than kept: nothing is queued for a server that is away, and nothing is sent a
 * second time, since the first may have been charged.
 */
const OPTIONS: RedisOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  connectTimeout: 1000,
  disconnectTimeout: 200,
  keepAlive: 10_000,
  lazyConnect: true,
  retryStrategy: (attempt) => Math.random() * Math.min(MAX_BACKOFF_MS, attempt * 50),
};

/**
 * Opens a client for a URL or ioredis options, without connecting. ioredis is loaded here and only here: who hands in a
 * client, or needs none, need not install it.
 */
export async function openRedis(redis: string | RedisOptions): Promise<OwnedRedisClient> {
  const { Redis } = await import('ioredis');
  return typeof redis === 'string' ? new Redis(redis, OPTIONS) : new Redis({ ...OPTIONS, ...redis });
}
