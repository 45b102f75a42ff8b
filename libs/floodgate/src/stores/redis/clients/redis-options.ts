import type { ConnectionOptions } from 'node:tls';

interface NatAddress {
  /** The name or address at which the server is reached. */
  host: string;
  /** The port at which it is reached: 1 to 65,535. */
  port: number;
}

/** Maps the addresses that servers announce to those at which they are reached. */
type NatMap = Record<string, NatAddress> | ((key: string) => NatAddress | null | undefined);

interface Replica {
  port: string;
  ip: string;
}

interface PreferredReplica extends Replica {
  /** The rank: a number, the lowest first. Default 1. */
  prio?: number | undefined;
}

/**
 * The options of ioredis, 5.4.2 to 6, of which any may be given as `redis`. ioredis documents them. The types are written out
 * here, so that an application without ioredis compiles. Boot refuses an option that the installed ioredis does not know.
 *
 * @example { host: 'redis.internal', port: 6379, password: process.env.REDIS_PASSWORD, tls: {} }
 * @see https://redis.github.io/ioredis/interfaces/CommonRedisOptions.html
 */
export interface RedisConnectionOptions {
  /** The server's name or address. Default `'localhost'`. */
  host?: string | undefined;
  /** The server's port: 1 to 65,535, default 6379. */
  port?: number | undefined;
  /** The path of a UNIX domain socket, in place of `host` and `port`. Default none. */
  path?: string | undefined;
  /** The IP version of a name's addresses: 4, 6 or 0 for either. Default that of ioredis: 4 in 5.4, 0 in 6. */
  family?: number | undefined;
  /** The user of Redis's ACL. Default none: Redis takes the user `default`. */
  username?: string | undefined;
  /** The password of Redis, or of `username`. Default none. */
  password?: string | undefined;
  /** The database: a whole number from 0, the default. Boot stops if Redis does not have it. */
  db?: number | undefined;
  /** The options of a TLS connection; `{}` for those of Node. Default none: the connection is not encrypted. */
  tls?: ConnectionOptions | undefined;
  /** Stands before the module's `keyPrefix` in each key. Default none. */
  keyPrefix?: string | undefined;
  /** The connection's name in `CLIENT LIST`. Default none. */
  connectionName?: string | undefined;
  /** How long a connection may take until it answers: milliseconds from 1, default 2,000. */
  connectTimeout?: number | undefined;
  /** How long a connection may take to close: milliseconds from 0, default 200. */
  disconnectTimeout?: number | undefined;
  /** The idle time before the first TCP keep-alive probe: milliseconds from 0, default 10,000. */
  keepAlive?: number | undefined;
  /** Whether TCP sends small packets at once. Default true. */
  noDelay?: boolean | undefined;
  /**
   * Returns the milliseconds until the next attempt to connect. Default, and for no number: at random up to 50 times the attempt,
   * 250 at most.
   */
  retryStrategy?: ((times: number) => number | void | null) | null | undefined;
  /** Whether a new connection waits until Redis has loaded its data. Default true. */
  enableReadyCheck?: boolean | undefined;
  /** The longest time between two looks whether Redis has loaded its data: milliseconds from 1, default 100. */
  maxLoadingRetryTime?: number | undefined;
  /** A class of your own that opens connections. Default that of the library, with Sentinels that of ioredis. */
  Connector?: (new (options: never) => object) | undefined;

  /** The Sentinels that know the master. Default none: `host` is the server. */
  sentinels?:
    | {
        /** The Sentinel's name or address. Default `'localhost'`. */
        host?: string | undefined;
        /** The Sentinel's port: 1 to 65,535, default 26379. */
        port?: number | undefined;
        /** The IP version of its addresses: 4, 6 or 0 for either. Default the option `family`. */
        family?: number | undefined;
      }[]
    | undefined;
  /** The name of the master that the Sentinels watch. No default: Sentinels need it. */
  name?: string | undefined;
  /** The server that the Sentinels look for. Default `'master'`; a replica cannot decide. */
  role?: 'master' | 'slave' | undefined;
  /** The user at the Sentinels. Default none. */
  sentinelUsername?: string | undefined;
  /** The password at the Sentinels. Default none. */
  sentinelPassword?: string | undefined;
  /** The options of TLS connections to the Sentinels. Default none: they are not encrypted. */
  sentinelTLS?: ConnectionOptions | undefined;
  /** Whether connections to the master that the Sentinels name use `tls`. Default false. */
  enableTLSForSentinelMode?: boolean | undefined;
  /** Returns the milliseconds until all Sentinels are asked again. Default 10 times the attempt, 1,000 at most. */
  sentinelRetryStrategy?: ((attempts: number) => number | void | null) | undefined;
  /** Returns the milliseconds until the failover detector connects to a lost Sentinel again. Default 60,000. */
  sentinelReconnectStrategy?: ((attempts: number) => number | void | null) | undefined;
  /** How long a Sentinel may take to answer, its lookup included: milliseconds from 1, default 12,000. */
  sentinelCommandTimeout?: number | undefined;
  /** The Sentinels that the failover detector listens to at most: a whole number from 1, default 10. */
  sentinelMaxConnections?: number | undefined;
  /** Whether Sentinels that others name are asked, too. Default true. */
  updateSentinels?: boolean | undefined;
  /** Whether a master that the Sentinels replace is left at once. Default true. */
  failoverDetector?: boolean | undefined;
  /** Maps the addresses that Sentinels announce to those at which they are reached. Default none. */
  natMap?: NatMap | undefined;
  /** With `role: 'slave'`: the replicas to prefer. Default none: any replica. */
  preferredSlaves?:
    | ((slaves: (Replica & { flags?: string })[]) => (Replica & { flags?: string | undefined }) | null)
    | PreferredReplica[]
    | PreferredReplica
    | undefined;

  /** The version of Redis's protocol; default 3. */
  protocol?: 2 | 3 | undefined;
  /** How replies of protocol 3 are given. Default `'legacy'`. */
  replyMapping?: string | undefined;
  /** Whether ioredis leaves out `CLIENT SETINFO`. Default false. */
  disableClientInfo?: boolean | undefined;
  /** A tag beside the client's name in `CLIENT SETINFO`. Default none. */
  clientInfoTag?: string | undefined;
  /** Default true. Without effect: the library subscribes to nothing. */
  autoResubscribe?: boolean | undefined;
  /** Default none. Without effect: `enableAutoPipelining` is ignored. */
  autoPipeliningIgnoredCommands?: string[] | undefined;
  /** No default. Without effect on a connection. */
  offlineQueue?: boolean | undefined;
  /** No default. Without effect on a connection. */
  commandQueue?: boolean | undefined;
  /** Whether errors have the stack of the call. Default false. */
  showFriendlyErrorStack?: boolean | undefined;
  /** Default none. Without effect: the library sends no `HIMPORT`. */
  himportFieldsets?: readonly object[] | undefined;
  /** Commands of your own, by name. Default none. Without effect: the library calls none of them. */
  scripts?:
    | Record<
        string,
        {
          /** The source. */
          lua: string;
          /** The number of keys: a whole number from 0. Default: the call's first argument. */
          numberOfKeys?: number | undefined;
          /** Whether replicas may run it. Default false. */
          readOnly?: boolean | undefined;
        }
      >
    | undefined;
  /** Milliseconds from 1 that a blocking command may take. Default none. Without effect: the library sends none. */
  blockingTimeout?: number | undefined;
  /** Milliseconds from 0 beside a blocking command's own time. Default 100. Without effect: the library sends none. */
  blockingTimeoutGrace?: number | undefined;

  // Promises rest on those below.
  /** Ignored, and boot says so: the default, false, always holds. */
  enableOfflineQueue?: boolean | undefined;
  /** Ignored, and boot says so: the default, 0, always holds. */
  maxRetriesPerRequest?: number | null | undefined;
  /** Ignored, and boot says so: the default, false, always holds. */
  autoResendUnfulfilledCommands?: boolean | undefined;
  /** Ignored, and boot says so: the default, false, always holds. */
  enableAutoPipelining?: boolean | undefined;
  /** Ignored, and boot says so: the default, true, always holds. */
  lazyConnect?: boolean | undefined;
  /** Ignored, and boot says so: the default, false, always holds. */
  stringNumbers?: boolean | undefined;
  /** Ignored, and boot says so: the default, false, always holds. */
  monitor?: boolean | undefined;
  /** Ignored, and boot says so: the default, false, always holds. */
  readOnly?: boolean | undefined;
  /** Ignored, and boot says so: the default, to reconnect after `READONLY`, always holds. */
  reconnectOnError?: ((error: Error) => boolean | 1 | 2) | null | undefined;
  /** Ignored, and boot says so: the default, none, always holds. */
  socketTimeout?: number | undefined;
  /** Ignored, and boot says so: the default, none, always holds. */
  commandTimeout?: number | undefined;
}

// Beside the type of a client, so that the compiler suggests `host` for `hosst`: of a union it knows only the names that all members
// have. Clients have these, if at all, as properties of the same types.
export interface OptionNames extends Pick<
  RedisConnectionOptions,
  'host' | 'port' | 'username' | 'password' | 'db' | 'tls' | 'keyPrefix' | 'sentinels' | 'connectTimeout'
> {}
