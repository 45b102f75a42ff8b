import dns from 'node:dns';
import type { Redis, RedisOptions } from 'ioredis';
import { optionalPackageError } from '../../../util/optional-package.js';
import { backoff } from './backoff.js';
import { CONNECT_MS, ClientConnections, PingingConnector } from './connector.js';
import { checkDatabase } from './database.js';
import { differences, inWords } from './differences.js';
import type { OwnedClient } from './client.js';
import { type IoredisClient, opensItself, ownedIoredis } from './ioredis-client.js';
import { checkIoredisOptions } from './ioredis-options.js';
import { addressesOf, queuedLookup } from './lookup.js';
import type { RedisCommands } from './redis-client.js';
import type { RedisConnectionOptions } from './redis-options.js';

/** How long one Sentinel may take for its first answer before the next one is asked. The lookup of its name comes before. */
const SENTINEL_MS = 1000;

/**
 * Options that the application cannot change, because a promise of the library depends on each. The client queues nothing for
 * an unavailable server, and sends nothing twice, since the first may have been charged. No timer of ioredis decides: after a
 * stall of the event loop it fires before the answers that arrived meanwhile are read.
 */
const PROMISED: RedisConnectionOptions = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  enableAutoPipelining: false,
  lazyConnect: true,
  stringNumbers: false,
  monitor: false,
  readOnly: false,
  // The master was demoted: behind its name another server may answer. (True reconnects, and resends nothing.)
  reconnectOnError: (error) => error.message.startsWith('READONLY'),
  socketTimeout: undefined,
  commandTimeout: undefined,
};

/** Options that the application may change. */
const DEFAULTS: RedisConnectionOptions = {
  connectTimeout: CONNECT_MS,
  disconnectTimeout: 200,
  // ioredis would wait as long as a loading server estimates, up to 10 s.
  maxLoadingRetryTime: 100,
  // With Sentinel: leave a replaced master at once. Writes that it acknowledges later are lost.
  failoverDetector: true,
  // Ends a Sentinel that answers once and then hangs. The time begins before the lookup.
  sentinelCommandTimeout: CONNECT_MS + 2 * SENTINEL_MS,
  keepAlive: 10_000,
  retryStrategy: backoff,
};

/** Options of a Cluster. ioredis does not send a command again that a lost node, or a Cluster that is down, did not answer. */
const CLUSTER_OPTIONS = {
  lazyConnect: true,
  // Without the queue, a redirection to a node that is not connected yet fails.
  enableOfflineQueue: true,
  enableAutoPipelining: false,
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  maxRedirections: 5,
  slotsRefreshTimeout: 1000,
  clusterRetryStrategy: backoff,
};

const CONNECTOR: RedisConnectionOptions = { Connector: PingingConnector };

export const IOREDIS_VERSIONS = '^5.4.2 || ^6.0.0';

/** A client that the store opened, and the given options that it overrules. */
interface OpenedIoredis {
  readonly client: OwnedClient;
  /** The overruled options, each with the value that holds instead. */
  readonly ignored: readonly string[];
}

/**
 * Makes a client for a URL or ioredis options, without connecting. Only this function loads ioredis.
 *
 * @throws {RateLimitConfigError} when ioredis is not installed or does not know an option, or for what is no database
 */
export async function openIoredis(redis: string | RedisConnectionOptions, where: string): Promise<OpenedIoredis> {
  const Client = await redisClass(where);
  checkDatabase(redis, where);
  const connections = new ClientConnections();
  if (typeof redis === 'string') {
    const { url, ignored } = withoutPromised(redis);
    const own = { ...DEFAULTS, ...PROMISED, ...CONNECTOR, connections };
    return { client: owned(new Client(url, own as RedisOptions), connections), ignored };
  }
  checkIoredisOptions(redis, new Client({ lazyConnect: true }).options, where);
  const options = { ...DEFAULTS, ...defined(redis), ...PROMISED, retryStrategy: endless(redis.retryStrategy) };
  const client = new Client(
    (opensItself(options) ? options : { ...options, ...CONNECTOR, connections }) as RedisOptions,
  );
  return { client: owned(client, connections), ignored: differences(PROMISED, redis) };
}

async function redisClass(where: string): Promise<typeof Redis> {
  try {
    return (await import('ioredis')).Redis;
  } catch (error) {
    throw optionalPackageError(error, { name: 'ioredis', where, versions: IOREDIS_VERSIONS });
  }
}

/** Removes overruled options from a URL's query: ioredis prefers the query to the options beside the URL. */
function withoutPromised(given: string): { readonly url: string; readonly ignored: readonly string[] } {
  const url = new URL(given);
  const names = Object.keys({ ...PROMISED, ...CONNECTOR, retryStrategy: backoff });
  const found = names.filter((name) => url.searchParams.has(name));
  if (found.length === 0) return { url: given, ignored: [] };
  for (const name of found) url.searchParams.delete(name);
  return { url: url.href, ignored: found.map((name) => inWords(name, PROMISED[name as keyof RedisConnectionOptions])) };
}

/**
 * Duplicates a client with the options above: ioredis's defaults queue without bound, and resend what may have been charged.
 * Returns undefined for a client without `duplicate`.
 */
export function duplicateIoredis(client: RedisCommands): OwnedClient | undefined {
  const { duplicate, options = {} } = client as {
    duplicate?: (...args: unknown[]) => IoredisClient;
    options?: RedisConnectionOptions & { redisOptions?: RedisConnectionOptions; dnsLookup?: unknown };
  };
  if (typeof duplicate !== 'function') return undefined;
  const own = { ...DEFAULTS, ...PROMISED };
  const connections = new ClientConnections();
  if (client.isCluster !== true) {
    const given = opensItself(options) ? own : { ...own, ...CONNECTOR, connections };
    return owned(duplicate.call(client, given), connections);
  }
  const { lazyConnect: _, ...redisOptions } = { ...options.redisOptions, ...own };
  const cluster = duplicate.call(client, [], {
    ...CLUSTER_OPTIONS,
    redisOptions: opensItself(redisOptions) ? redisOptions : { ...redisOptions, ...CONNECTOR, connections },
    ...(options.dnsLookup === dns.lookup && { dnsLookup: lookupFirst }),
  });
  return ownedIoredis(cluster, connections);
}

/** The options in which the duplicate differs from the client, such as `maxRetriesPerRequest: 0`; functions by their names. */
export function changedIoredisOptions(client: RedisCommands): string[] {
  const { options = {} } = client as { options?: RedisConnectionOptions & { redisOptions?: RedisConnectionOptions } };
  const { lazyConnect: _, ...all } = { ...DEFAULTS, ...PROMISED };
  // They have no effect on connections without Sentinel.
  const { failoverDetector: _detector, sentinelCommandTimeout: _timeout, ...plain } = all;
  const own = options.sentinels ? all : plain;
  if (client.isCluster !== true) return differences(own, options, true);
  const { lazyConnect: __, ...cluster } = CLUSTER_OPTIONS;
  return [...differences(cluster, options, true), ...differences(own, options.redisOptions ?? {}, true)];
}

function owned(client: IoredisClient, connections: ClientConnections): OwnedClient {
  adaptSentinels(client, connections);
  return ownedIoredis(client, connections);
}

/** If Sentinels are used, sends ioredis's own lookups of names through the queue of `addressesOf`, and opens connections to Sentinels. */
function adaptSentinels(client: IoredisClient, connections: ClientConnections): void {
  const { connector } = client as {
    connector?: {
      connectToSentinel?: (endpoint: unknown, options?: object) => unknown;
      resolve?: (endpoint: unknown) => Promise<object | null>;
    };
  };
  if (typeof connector?.connectToSentinel !== 'function' || typeof connector.resolve !== 'function') return;
  const { connectToSentinel, resolve } = connector;
  connector.connectToSentinel = (endpoint, options) =>
    connectToSentinel.call(connector, endpoint, {
      connectTimeout: SENTINEL_MS,
      lookupTimeout: CONNECT_MS,
      ...options,
      ...CONNECTOR,
      connections,
    });
  connector.resolve = async (endpoint) => {
    const master = await resolve.call(connector, endpoint);
    return master && { ...master, lookup: queuedLookup };
  };
}

function lookupFirst(hostname: string, callback: (error: Error | null, address?: string) => void): void {
  addressesOf(hostname).then(([first]) => callback(null, first!.address), callback);
}

/** Replaces the end of a `retryStrategy` by a back-off: otherwise the process would not use Redis again until it restarts. */
function endless(given: RedisConnectionOptions['retryStrategy']): (attempt: number) => number {
  if (typeof given !== 'function') return backoff;
  return (attempt) => {
    const ms = given(attempt);
    return typeof ms === 'number' ? ms : backoff(attempt);
  };
}

/** Leaves out undefined options, which would replace a default. */
function defined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
