import type { ConnectionOptions } from 'node:tls';

/** Maps the addresses that servers announce to those at which they are reached. */
type NatMap =
  Record<string, { host: string; port: number }> | ((key: string) => { host: string; port: number } | null | undefined);

interface Replica {
  port: string;
  ip: string;
}

/**
 * The options of ioredis, 5.4.2 to 6, of which any may be given as `redis`. ioredis documents them. The types are written out
 * here, so that an application without ioredis compiles. Boot refuses an option that the installed ioredis does not know.
 *
 * @example { host: 'redis.internal', port: 6379, password: process.env.REDIS_PASSWORD, tls: {} }
 * @see https://redis.github.io/ioredis/interfaces/CommonRedisOptions.html
 */
export interface RedisConnectionOptions {
  host?: string | undefined;
  port?: number | undefined;
  /** The path of a UNIX domain socket. */
  path?: string | undefined;
  /** 4, 6, or 0 for either. */
  family?: number | undefined;
  username?: string | undefined;
  password?: string | undefined;
  db?: number | undefined;
  tls?: ConnectionOptions | undefined;
  keyPrefix?: string | undefined;
  connectionName?: string | undefined;
  /** Milliseconds. */
  connectTimeout?: number | undefined;
  /** Milliseconds. */
  disconnectTimeout?: number | undefined;
  /** Milliseconds. */
  keepAlive?: number | undefined;
  noDelay?: boolean | undefined;
  retryStrategy?: ((times: number) => number | void | null) | null | undefined;
  enableReadyCheck?: boolean | undefined;
  /** Milliseconds. */
  maxLoadingRetryTime?: number | undefined;
  Connector?: (new (options: never) => object) | undefined;

  sentinels?: { host?: string | undefined; port?: number | undefined; family?: number | undefined }[] | undefined;
  /** The name of the master that the Sentinels watch. */
  name?: string | undefined;
  role?: 'master' | 'slave' | undefined;
  sentinelUsername?: string | undefined;
  sentinelPassword?: string | undefined;
  sentinelTLS?: ConnectionOptions | undefined;
  enableTLSForSentinelMode?: boolean | undefined;
  sentinelRetryStrategy?: ((attempts: number) => number | void | null) | undefined;
  sentinelReconnectStrategy?: ((attempts: number) => number | void | null) | undefined;
  /** Milliseconds. */
  sentinelCommandTimeout?: number | undefined;
  sentinelMaxConnections?: number | undefined;
  updateSentinels?: boolean | undefined;
  failoverDetector?: boolean | undefined;
  natMap?: NatMap | undefined;
  preferredSlaves?:
    | ((slaves: (Replica & { flags?: string })[]) => (Replica & { flags?: string | undefined }) | null)
    | (Replica & { prio?: number | undefined })[]
    | (Replica & { prio?: number | undefined })
    | undefined;

  protocol?: 2 | 3 | undefined;
  replyMapping?: string | undefined;
  disableClientInfo?: boolean | undefined;
  clientInfoTag?: string | undefined;
  autoResubscribe?: boolean | undefined;
  autoPipeliningIgnoredCommands?: string[] | undefined;
  offlineQueue?: boolean | undefined;
  commandQueue?: boolean | undefined;
  showFriendlyErrorStack?: boolean | undefined;
  himportFieldsets?: readonly object[] | undefined;
  scripts?:
    Record<string, { lua: string; numberOfKeys?: number | undefined; readOnly?: boolean | undefined }> | undefined;
  /** Milliseconds. */
  blockingTimeout?: number | undefined;
  /** Milliseconds. */
  blockingTimeoutGrace?: number | undefined;

  /** Ignored, as the options below are: promises rest on them. Boot says so when one is given. */
  enableOfflineQueue?: boolean | undefined;
  maxRetriesPerRequest?: number | null | undefined;
  autoResendUnfulfilledCommands?: boolean | undefined;
  enableAutoPipelining?: boolean | undefined;
  lazyConnect?: boolean | undefined;
  stringNumbers?: boolean | undefined;
  monitor?: boolean | undefined;
  readOnly?: boolean | undefined;
  reconnectOnError?: ((error: Error) => boolean | 1 | 2) | null | undefined;
  socketTimeout?: number | undefined;
  commandTimeout?: number | undefined;
}

// Beside the type of a client, so that the compiler suggests `host` for `hosst`: of a union it knows only the names that all members
// have. Clients have these, if at all, as properties of the same types.
export interface OptionNames extends Pick<
  RedisConnectionOptions,
  'host' | 'port' | 'username' | 'password' | 'db' | 'tls' | 'keyPrefix' | 'sentinels' | 'connectTimeout'
> {}
