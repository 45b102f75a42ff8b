import { Redis } from 'ioredis';
import { RedisServer } from '../../../tools/redis-server.js';

/** Starts a Redis of the surge's own on a free port of the loopback interface, and measures its CPU. */
export class RedisMeter implements AsyncDisposable {
  private constructor(
    private readonly server: RedisServer,
    private readonly client: Redis,
  ) {}

  /** @throws Error that says how to install a Redis server if there is none */
  static async start(): Promise<RedisMeter> {
    const server = await RedisServer.start();
    return new RedisMeter(server, new Redis(server.url));
  }

  get url(): string {
    return this.server.url;
  }

  async clear(): Promise<void> {
    await this.client.flushall();
  }

  /** CPU seconds of all threads since the start. */
  async cpuSeconds(): Promise<number> {
    const info = await this.client.info('cpu');
    return field(info, 'used_cpu_sys') + field(info, 'used_cpu_user');
  }

  async version(): Promise<string> {
    const info = await this.client.info('server');
    return /^(?:redis|valkey)_version:(\S+)/m.exec(info)?.[1] ?? '?';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.disconnect();
    await this.server.stop();
  }
}

function field(info: string, name: string): number {
  return Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1]);
}
