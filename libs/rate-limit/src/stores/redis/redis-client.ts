import dns from 'node:dns';
import { RateLimitConfigError } from '../../util/config-error.js';
import type { WatchedConnection } from './connection-watchdog.js';
import { PingingConnector } from './connector.js';
import { addressesOf, queuedLookup } from './lookup.js';
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

/** A Cluster's connection to one of its nodes. */
export interface ClusterNodeConnection extends WatchedConnection {
  readonly options: { readonly host?: string; readonly port?: number };
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
  readonly stream?: WatchedConnection['stream'];
  /** Of a Cluster: the nodes that have a slot, its master first. */
  readonly slots?: readonly (readonly string[] | undefined)[];
  /** Of a Cluster: the connections to its nodes. */
  nodes?(): readonly ClusterNodeConnection[];
  /** Of a Cluster: asks it anew who has which slots. */
  refreshSlotsCache?(): void;
  on(event: 'error' | 'connecting' | 'connect' | 'close' | 'ready' | 'end', listener: (error: Error) => void): unknown;
  on(event: '+node', listener: (node: ClusterNodeConnection) => void): unknown;
}

export type { RedisOptions };

/** Whether `value` is a ready client, by what it can do: two copies of ioredis in a tree have two classes. */
export function isRedisClient(value: unknown): value is RedisClient {
  if (typeof value !== 'object' || value === null) return false;
  const client = value as Record<string, unknown>;
  return typeof client.evalsha === 'function' && typeof client.eval === 'function' && typeof client.del === 'function';
}

const MAX_BACKOFF_MS = 250;
const CONNECT_MS = 10_000;
/** How long one Sentinel may take to answer for the first time before the next one is asked; the lookup of its name comes before. */
const SENTINEL_MS = 1000;

/**
 * Options of every connection, whatever the application gives: a promise rests on each. Nothing is queued for a server that
 * is away, nothing is sent twice since the first may be charged, and no timer of ioredis decides: after a stall of the event
 * loop it fires before the answers that arrived meanwhile are read.
 */
const PROMISED: RedisOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  enableAutoPipelining: false,
  lazyConnect: true,
  stringNumbers: false,
  monitor: false,
  readOnly: false,
  // A demoted master: behind its name another server may answer. (True reconnects, and resends nothing.)
  reconnectOnError: (error) => error.message.startsWith('READONLY'),
  socketTimeout: undefined,
  commandTimeout: undefined,
};

/** Options that the application may choose otherwise. */
const DEFAULTS: RedisOptions = {
  connectTimeout: CONNECT_MS,
  disconnectTimeout: 200,
  // A loading server estimates how long it will take, and ioredis would wait for up to ten seconds of that.
  maxLoadingRetryTime: 100,
  // With Sentinel: leave a master that was replaced at once. What it acknowledges afterwards is lost.
  failoverDetector: true,
  // Of one that answers once and hangs then; it holds from before the lookup on.
  sentinelCommandTimeout: CONNECT_MS + 2 * SENTINEL_MS,
  keepAlive: 10_000,
  retryStrategy: backoff,
};

/** For a Cluster: what was sent to a node that is gone, or to a Cluster that is down, is not sent again. */
const CLUSTER_OPTIONS = {
  lazyConnect: true,
  // Without the queue a redirection to a node that is not connected yet fails.
  enableOfflineQueue: true,
  enableAutoPipelining: false,
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  maxRedirections: 5,
  slotsRefreshTimeout: 1000,
  clusterRetryStrategy: backoff,
};

const CONNECTOR = { Connector: PingingConnector as unknown as NonNullable<RedisOptions['Connector']> };

/** A client that was opened here, and what of the given options does not hold. */
export interface OpenedRedis {
  readonly client: OwnedRedisClient;
  /** Names of options that are ignored, each with the value that holds. */
  readonly ignored: readonly string[];
}

/**
 * Opens a client for a URL or ioredis options, without connecting. ioredis is loaded here and only here: an application that
 * hands in a client, or uses no Redis, need not install it.
 *
 * @throws {RateLimitConfigError} when ioredis is not installed
 */
export async function openRedis(redis: string | RedisOptions): Promise<OpenedRedis> {
  const { Redis } = await import('ioredis').catch(() => {
    throw new RateLimitConfigError('RateLimitModule', 'redis needs the package ioredis: npm install ioredis@6');
  });
  if (typeof redis === 'string') {
    const { url, ignored } = withoutPromised(redis);
    return { client: queueLookups(new Redis(url, { ...DEFAULTS, ...PROMISED, ...CONNECTOR })), ignored };
  }
  const options = { ...DEFAULTS, ...defined(redis), ...PROMISED, retryStrategy: endless(redis.retryStrategy) };
  const client = new Redis(opensItself(options) ? options : { ...options, ...CONNECTOR });
  return { client: queueLookups(client), ignored: differences(PROMISED, redis) };
}

/** An option of the query stands before those given beside the URL. */
function withoutPromised(given: string): { readonly url: string; readonly ignored: readonly string[] } {
  const url = new URL(given);
  const names = Object.keys({ ...PROMISED, ...CONNECTOR, retryStrategy: backoff });
  const found = names.filter((name) => url.searchParams.has(name));
  if (found.length === 0) return { url: given, ignored: [] };
  for (const name of found) url.searchParams.delete(name);
  return { url: url.href, ignored: found.map((name) => inWords(name, PROMISED[name as keyof RedisOptions])) };
}

/**
 * A duplicate of a client for the same server or Cluster with the options above, or undefined where there is none to be had
 * (an object that only looks like a client may have none). ioredis's defaults queue without bound, and resend what may have
 * been charged.
 */
export function duplicateRedis(client: RedisClient): OwnedRedisClient | undefined {
  const { duplicate, options = {} } = client as {
    duplicate?: (...args: unknown[]) => OwnedRedisClient;
    options?: RedisOptions & { redisOptions?: RedisOptions; dnsLookup?: unknown };
  };
  if (typeof duplicate !== 'function') return undefined;
  const own = { ...DEFAULTS, ...PROMISED };
  if (client.isCluster !== true) {
    return queueLookups(duplicate.call(client, opensItself(options) ? own : { ...own, ...CONNECTOR }));
  }
  const { lazyConnect: _, ...redisOptions } = { ...options.redisOptions, ...own };
  return duplicate.call(client, [], {
    ...CLUSTER_OPTIONS,
    redisOptions: opensItself(redisOptions) ? redisOptions : { ...redisOptions, ...CONNECTOR },
    ...(options.dnsLookup === dns.lookup && { dnsLookup: lookupFirst }),
  });
}

/** In what the duplicate differs from the client that was handed in: `maxRetriesPerRequest: 0`, functions by their names. */
export function changedOptions(client: RedisClient): string[] {
  const { options = {} } = client as { options?: RedisOptions & { redisOptions?: RedisOptions } };
  const { lazyConnect: _, ...own } = { ...DEFAULTS, ...PROMISED };
  if (client.isCluster !== true) return differences(own, options, true);
  const { lazyConnect: __, ...cluster } = CLUSTER_OPTIONS;
  return [...differences(cluster, options, true), ...differences(own, options.redisOptions ?? {}, true)];
}

/** @param missing whether an option that is not given differs, too */
function differences(wanted: object, given: object, missing = false): string[] {
  const values = given as Readonly<Record<string, unknown>>;
  return Object.entries(wanted)
    .filter(
      ([name, value]) => values[name] !== value && (missing ? value !== undefined || values[name] : name in values),
    )
    .map(([name, value]) => inWords(name, value));
}

function inWords(name: string, value: unknown): string {
  return typeof value === 'function' ? name : `${name}: ${String(value)}`;
}

/** Whether ioredis, or a connector of the application, opens the connection: with Sentinel the master has to be found first. */
export function opensItself({ sentinels, Connector }: RedisOptions): boolean {
  return Boolean(sentinels) || (Connector !== undefined && Connector !== CONNECTOR.Connector);
}

/** What ioredis asks for names by itself, with Sentinel, goes by the same queue. */
function queueLookups<T extends OwnedRedisClient>(client: T): T {
  const { connector } = client as {
    connector?: {
      connectToSentinel?: (endpoint: unknown, options?: object) => unknown;
      resolve?: (endpoint: unknown) => Promise<object | null>;
    };
  };
  if (typeof connector?.connectToSentinel !== 'function' || typeof connector.resolve !== 'function') return client;
  const { connectToSentinel, resolve } = connector;
  connector.connectToSentinel = (endpoint, options) =>
    connectToSentinel.call(connector, endpoint, {
      connectTimeout: SENTINEL_MS,
      lookupTimeout: CONNECT_MS,
      ...options,
      ...CONNECTOR,
    });
  connector.resolve = async (endpoint) => {
    const master = await resolve.call(connector, endpoint);
    return master && { ...master, lookup: queuedLookup };
  };
  return client;
}

function lookupFirst(hostname: string, callback: (error: Error | null, address?: string) => void): void {
  addressesOf(hostname).then(([first]) => callback(null, first!.address), callback);
}

export function backoff(attempt: number): number {
  return Math.random() * Math.min(MAX_BACKOFF_MS, attempt * 50);
}

/** A strategy that ends the attempts would end the use of Redis until the process is restarted. */
function endless(given: RedisOptions['retryStrategy']): (attempt: number) => number {
  if (typeof given !== 'function') return backoff;
  return (attempt) => {
    const ms = given(attempt);
    return typeof ms === 'number' ? ms : backoff(attempt);
  };
}

/** Without what is given as undefined, which would replace a default. */
function defined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
