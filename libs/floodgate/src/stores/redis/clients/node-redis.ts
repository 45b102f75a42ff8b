import { EventEmitter } from 'node:events';
import type { ClusterMap, ConnectionState, StoreClient } from './client.js';
import { queuedLookup } from './lookup.js';
import { failureOfCall } from './node-redis-failure.js';
import type { NodeRedisClient } from './redis-client.js';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What is used of the options of `createClient`, `createCluster` and `createSentinel`, of node-redis 5 and 6. */
export interface NodeRedisOptions {
  readonly url?: string;
  readonly socket?: Partial<Address> & { readonly path?: string; readonly lookup?: unknown };
  readonly database?: number;
  readonly keyPrefix?: string | Buffer;
  /** The addresses of servers that others announce at other addresses. */
  readonly nodeAddressMap?: Readonly<Record<string, Address>> | ((address: string) => Address | undefined);
}

/** What is used of one connection: what `createClient` returns. */
export interface NodeRedis extends NodeRedisClient {
  /** A client that was made without options has none. */
  readonly options?: NodeRedisOptions | undefined;
  sendCommand(args: readonly string[], options: object): Promise<unknown>;
  duplicate(overrides: object): NodeRedis;
  connect(): Promise<unknown>;
  close(): Promise<unknown>;
  destroy(): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'connect', listener: () => void): unknown;
}

/** Makes a client without connecting it: `createClient`. */
export type CreateClient = (options: object) => NodeRedis;

/**
 * The options of each connection that the store opens, whatever the application has chosen for its own. The store queues nothing for an
 * unavailable server, and sends nothing twice.
 */
export const PROMISED = {
  disableOfflineQueue: true,
  commandsQueueMaxLength: undefined,
  pingInterval: undefined,
  readonly: undefined,
  clientSideCache: undefined,
  emitInvalidate: undefined,
  commandOptions: undefined,
  socketTimeout: undefined,
} as const;

/** The options of a connection: those of the application, except what a promise depends on, and what the store does by itself. */
export function promised(given: NodeRedisOptions | undefined, signal: AbortSignal, address?: Address): object {
  const { host, lookup = queuedLookup, ...rest } = { ...given?.socket, ...address };
  // Version 5 keeps the brackets of a URL's IPv6 address, which no lookup finds.
  const target = host !== undefined && { host: host.replace(/^\[(.*)\]$/, '$1') };
  const socket = { ...rest, ...target, socketTimeout: undefined, lookup, reconnectStrategy: false, signal };
  // The keep-alive of `maintNotifications` is a connection of its own, which would take over from the one that is watched.
  const own = { RESP: 2, maintNotifications: 'disabled', database: undefined, keyPrefix: undefined, socket };
  return { ...given, ...PROMISED, ...own };
}

/**
 * The options of each command. Replies come as Redis sent them, whatever the application maps them to. Version 6 makes a timer for each
 * command unless the timeout is undefined, and no timer of a client decides: after a stall of the event loop it fires before the answers
 * that arrived meanwhile are read.
 */
export const AS_SENT = { typeMapping: {}, timeout: undefined } as const;

/** What all clients of node-redis have in common: the commands of the store, and a state. */
export abstract class NodeRedisBase implements StoreClient {
  readonly writesLater = true;
  abstract readonly cluster: ClusterMap | undefined;
  protected readonly events = new EventEmitter().setMaxListeners(0);
  private current: ConnectionState = 'closed';

  constructor(readonly keyPrefix: string) {}

  get state(): ConnectionState {
    return this.current;
  }

  onState(listener: (state: ConnectionState) => void): void {
    this.events.on('state', listener);
  }

  onError(listener: (error: Error) => void): void {
    this.events.on('failure', listener);
  }

  runByHash(sha1: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.run('evalsha', sha1, keys, args);
  }

  runByText(text: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.run('eval', text, keys, args);
  }

  del(key: string): Promise<unknown> {
    return this.worded(['DEL', `${this.keyPrefix}${key}`], `${this.keyPrefix}${key}`);
  }

  command(...args: readonly string[]): Promise<unknown> {
    return this.worded(args, undefined);
  }

  failureOf(thrown: unknown): Error {
    return failureOfCall(thrown);
  }

  /** @param key with its prefix; undefined: any server will do */
  protected abstract send(args: readonly string[], key: string | undefined): Promise<unknown>;

  /** No state comes after `ended`. */
  protected become(state: ConnectionState): void {
    if (state === this.current || this.current === 'ended') return;
    this.current = state;
    this.events.emit('state', state);
  }

  private async worded(args: readonly string[], key: string | undefined): Promise<unknown> {
    try {
      return await this.send(args, key);
    } catch (error) {
      throw this.failureOf(error);
    }
  }

  /** Writes the command in small letters, as ioredis does. */
  private run(command: string, program: string, keys: number, args: readonly string[]): Promise<unknown> {
    const { keyPrefix } = this;
    const prefixed = keyPrefix === '' ? args : args.map((arg, i) => (i < keys ? `${keyPrefix}${arg}` : arg));
    return this.send([command, program, String(keys), ...prefixed], prefixed[0]);
  }
}

/** A client of the application, which is used as it is: what `createClient` or `createClientPool` returns. */
export class GivenNodeRedis extends NodeRedisBase {
  readonly cluster = undefined;

  constructor(private readonly client: NodeRedisClient) {
    const { _keyPrefix, options } = client as { _keyPrefix?: string; options?: NodeRedisOptions };
    super(prefixOf(_keyPrefix ?? options?.keyPrefix));
  }

  protected send(args: readonly string[]): Promise<unknown> {
    return (this.client as NodeRedis).sendCommand(args, AS_SENT);
  }
}

/** The address of a server that is announced at another one. */
export function mapped(map: NodeRedisOptions['nodeAddressMap'], address: Address): Address {
  const name = `${address.host}:${address.port}`;
  return (typeof map === 'function' ? map(name) : map?.[name]) ?? address;
}

export function prefixOf(keyPrefix: string | Buffer | undefined): string {
  return keyPrefix?.toString() ?? '';
}
