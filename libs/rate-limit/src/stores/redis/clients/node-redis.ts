import { EventEmitter } from 'node:events';
import type { ClusterMap, ConnectionSocket, ConnectionState, StoreClient } from './client.js';
import { failureOfCall } from './node-redis-failure.js';
import type { NodeRedisClient } from './redis-client.js';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What is used of the options of `createClient`, `createCluster` and `createSentinel`, of node-redis 5 and 6. */
export interface NodeRedisOptions {
  readonly url?: string;
  readonly socket?: Partial<Address> & {
    readonly lookup?: unknown;
    readonly reconnectStrategy?: false | number | ((retries: number, cause: Error) => false | Error | number);
  };
  readonly database?: number;
  readonly keyPrefix?: string | Buffer;
  readonly RESP?: number;
  /** Where servers are reached that others announce at other addresses. */
  readonly nodeAddressMap?: Readonly<Record<string, Address>> | ((address: string) => Address | undefined);
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
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'connect', listener: () => void): unknown;
}

/** Makes a client without connecting it: `createClient`. */
export type CreateClient = (options: object) => NodeRedis;

/**
 * The options of each command. Replies come as Redis sent them, whatever the application maps them to. Version 6 makes a timer for each
 * command unless the timeout is undefined, and no timer of a client decides: after a stall of the event loop it fires before the answers
 * that arrived meanwhile are read.
 */
export const AS_SENT = { typeMapping: {}, timeout: undefined } as const;

/** What all clients of node-redis have in common: the commands of the store, and a state. */
export abstract class NodeRedisBase implements StoreClient {
  readonly writesLater = true;
  /** The watchdog watches from the first packet on. */
  readonly isProbed = false;
  readonly firstAnswerMs = 0;
  abstract readonly cluster: ClusterMap | undefined;
  protected readonly events = new EventEmitter().setMaxListeners(0);
  private current: ConnectionState = 'closed';

  constructor(readonly keyPrefix: string) {}

  get state(): ConnectionState {
    return this.current;
  }

  get socket(): ConnectionSocket | undefined {
    return undefined;
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
    return this.ask(['DEL', `${this.keyPrefix}${key}`], `${this.keyPrefix}${key}`);
  }

  select(database: number): Promise<unknown> {
    return this.ask(['SELECT', String(database)]);
  }

  async info(section: string): Promise<string> {
    return String(await this.ask(['INFO', section]));
  }

  time(): Promise<unknown> {
    return this.ask(['TIME']);
  }

  failureOf(thrown: unknown): Error {
    return failureOfCall(thrown);
  }

  /** @param key with its prefix; undefined: any server will do */
  protected abstract send(args: readonly string[], key: string | undefined): Promise<unknown>;

  protected become(state: ConnectionState): void {
    if (state === this.current) return;
    this.current = state;
    this.events.emit('state', state);
  }

  private async ask(args: readonly string[], key?: string): Promise<unknown> {
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

/** Where a server is reached that is announced at an address. */
export function mapped(map: NodeRedisOptions['nodeAddressMap'], address: Address): Address {
  const name = `${address.host}:${address.port}`;
  return (typeof map === 'function' ? map(name) : map?.[name]) ?? address;
}

export function prefixOf(keyPrefix: string | Buffer | undefined): string {
  return keyPrefix?.toString() ?? '';
}
