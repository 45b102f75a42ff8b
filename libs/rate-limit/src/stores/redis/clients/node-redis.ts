import type { NodeRedisClient } from './redis-client.js';

/** The options of `createClient` that matter here, of node-redis 5 and 6. */
export interface NodeRedisOptions {
  readonly url?: string;
  readonly socket?: NodeRedisSocket;
  readonly username?: string;
  readonly password?: string;
  readonly credentialsProvider?: unknown;
  readonly database?: number;
  readonly keyPrefix?: string | Buffer;
}

export interface NodeRedisSocket {
  readonly host?: string;
  readonly port?: number;
  readonly path?: string;
  readonly tls?: boolean;
  readonly connectTimeout?: number;
  readonly lookup?: unknown;
  readonly reconnectStrategy?: false | number | ((retries: number, cause: Error) => false | Error | number);
}

/** What is used of one connection: what `createClient` returns. */
export interface NodeRedis extends NodeRedisClient {
  readonly isReady: boolean;
  /** A client that was made without options has none. */
  readonly options?: NodeRedisOptions | undefined;
  sendCommand(args: readonly string[], options: object): Promise<unknown>;
  duplicate(overrides: object): NodeRedis;
  connect(): Promise<unknown>;
  close(): Promise<unknown>;
  destroy(): void;
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'connect', listener: () => void): unknown;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

/** Maps the addresses that servers announce to those at which they are reached. */
export type NodeAddressMap = Readonly<Record<string, Address>> | ((address: string) => Address | undefined);

/** What is used of the options of `createCluster`. */
export interface NodeRedisClusterOptions {
  readonly rootNodes: readonly NodeRedisOptions[];
  readonly defaults?: NodeRedisOptions;
  readonly nodeAddressMap?: NodeAddressMap;
  readonly RESP?: number;
  readonly keyPrefix?: string | Buffer;
}

/** What is used of the options of `createSentinel`. */
export interface NodeRedisSentinelOptions {
  readonly name: string;
  readonly sentinelRootNodes: readonly Address[];
  readonly nodeClientOptions?: NodeRedisOptions;
  readonly sentinelClientOptions?: NodeRedisOptions;
  readonly nodeAddressMap?: NodeAddressMap;
  readonly RESP?: number;
  readonly keyPrefix?: string | Buffer;
}

/** Makes a client without connecting it: `createClient`. */
export type MakeNodeRedis = (options: object) => NodeRedis;

/**
 * The options of each command. Replies come as Redis sent them, whatever the application maps them to. Version 6 makes a timer for each
 * command unless the timeout is undefined, and no timer of a client decides: after a stall of the event loop it fires before the answers
 * that arrived meanwhile are read.
 */
export const AS_SENT = { typeMapping: {}, timeout: undefined } as const;

/**
 * The options of each connection that the store opens, whatever the application has chosen for its own. The store queues nothing for an
 * unavailable server, and connects again by itself.
 */
export const PROMISED = {
  disableOfflineQueue: true,
  commandsQueueMaxLength: undefined,
  pingInterval: undefined,
  readonly: false,
  // Its keep-alive is a connection of its own, which would take over from the one that is watched.
  maintNotifications: 'disabled',
  clientSideCache: undefined,
  emitInvalidate: undefined,
  commandOptions: undefined,
} as const;

/** Of `socket`, beside those of a single connection. `connectTimeout` is kept, by a clock that stops while the event loop stalls. */
export const PROMISED_SOCKET = { reconnectStrategy: false, socketTimeout: undefined, connectTimeout: 0 } as const;

/** The command of a program, in small letters as ioredis writes it. */
export function programCommand(
  command: 'evalsha' | 'eval',
  program: string,
  keys: number,
  args: readonly string[],
  keyPrefix: string,
): string[] {
  if (keyPrefix === '') return [command, program, String(keys), ...args];
  return [command, program, String(keys), ...args.map((arg, i) => (i < keys ? `${keyPrefix}${arg}` : arg))];
}

/** Where a server is reached that others announce at `host:port`. */
export function mapped(map: NodeAddressMap | undefined, address: Address): Address {
  const name = `${address.host}:${address.port}`;
  return (typeof map === 'function' ? map(name) : map?.[name]) ?? { host: address.host, port: address.port };
}

export function prefixOf(keyPrefix: string | Buffer | undefined): string {
  return keyPrefix === undefined ? '' : keyPrefix.toString();
}
