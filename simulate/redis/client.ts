import type { ConnectionState, OwnedClient } from '../../libs/floodgate/src/stores/redis/clients/client.js';
import { Connection, type ConnectionSettings } from './connection.js';
import { type Call, DELETE, type RedisServer } from './server.js';

/** The arguments of EVAL and EVALSHA. */
export function callOf(script: string, keys: number, args: readonly string[]): Call {
  return { script, keys: args.slice(0, keys), args: args.slice(keys) };
}

/** What a simulated client answers beside decisions. */
export abstract class SimulatedOwnedClient {
  readonly keyPrefix = '';
  readonly database = 0;
  readonly isProbed = true;
  readonly firstAnswerMs = 0;

  failureOf(thrown: unknown): Error {
    return thrown as Error;
  }

  command(name: string): Promise<unknown> {
    if (name === 'INFO') return Promise.resolve('maxmemory_policy:noeviction');
    return Promise.reject(new Error(`ERR the simulated Redis knows no ${name}`));
  }

  close(): Promise<unknown> {
    this.destroy();
    return Promise.resolve('OK');
  }

  onError(): void {}

  abstract destroy(): void;
}

/** A client of one server. */
export class SimulatedClient extends SimulatedOwnedClient implements OwnedClient {
  readonly cluster = undefined;
  private readonly connection: Connection;

  constructor(private readonly settings: ConnectionSettings) {
    super();
    this.connection = new Connection(settings);
  }

  get state(): ConnectionState {
    return this.connection.state;
  }

  get socket(): Connection['socket'] {
    return this.connection.socket;
  }

  /** A server closes its connection. */
  lose(server: RedisServer): void {
    const { loop, server: own } = this.settings;
    if (own === server) loop.post(() => this.connection.lose());
  }

  runByHash(sha1: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.connection.call(callOf(sha1, keys, args));
  }

  runByText(text: string, keys: number, args: readonly string[]): Promise<unknown> {
    return this.connection.call(callOf(text, keys, args));
  }

  del(key: string): Promise<unknown> {
    return this.connection.call({ script: DELETE, keys: [key], args: [] });
  }

  connect(): Promise<void> {
    return this.connection.open();
  }

  destroy(): void {
    this.connection.close();
  }

  onState(listener: (state: ConnectionState) => void): void {
    this.connection.onState(listener);
  }
}
