import type { OwnedRedisClient } from '../../libs/rate-limit/src/stores/redis/clients/redis-client.js';
import { Connection, type ConnectionSettings } from './connection.js';
import { type Call, DELETE, type RedisServer } from './server.js';

/** The arguments of EVAL and EVALSHA. */
export function callOf(script: string, keys: number, args: readonly string[]): Call {
  return { script, keys: args.slice(0, keys), args: args.slice(keys) };
}

/** A client of one server: what `RedisStore` uses of ioredis. */
export class SimulatedClient implements OwnedRedisClient {
  private readonly connection: Connection;

  constructor(private readonly settings: ConnectionSettings) {
    this.connection = new Connection(settings);
  }

  get status(): string {
    return this.connection.status;
  }

  get stream(): Connection['stream'] {
    return this.connection.stream;
  }

  /** A server closes its connection. */
  lose(server: RedisServer): void {
    const { loop, server: own } = this.settings;
    if (own === server) loop.post(() => this.connection.lose());
  }

  evalsha(sha1: string, keys: number, ...args: string[]): Promise<unknown> {
    return this.connection.call(callOf(sha1, keys, args));
  }

  eval(script: string, keys: number, ...args: string[]): Promise<unknown> {
    return this.connection.call(callOf(script, keys, args));
  }

  del(key: string): Promise<unknown> {
    return this.connection.call({ script: DELETE, keys: [key], args: [] });
  }

  info(): Promise<string> {
    return Promise.resolve('maxmemory_policy:noeviction');
  }

  connect(): Promise<void> {
    return this.connection.open();
  }

  quit(): Promise<unknown> {
    this.connection.close();
    return Promise.resolve('OK');
  }

  disconnect(): void {
    this.connection.close();
  }

  on(event: string, listener: (argument: never) => void): this {
    if (event === 'connecting' || event === 'connect' || event === 'ready' || event === 'close') {
      this.connection.on(event, listener as () => void);
    }
    return this;
  }
}
