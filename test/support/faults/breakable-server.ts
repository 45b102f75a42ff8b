import { Redis } from 'ioredis';
import type { RedisServer } from '../redis-server.js';

/** One process among several, which remembers what was done to it: those that are left tell what became of it. */
export class BreakableServer {
  /** Connects again by itself; waits no longer than a second for an answer. */
  readonly client: Redis;
  private stopped = false;
  private gone = false;

  constructor(readonly server: RedisServer) {
    this.client = new Redis({
      host: server.host,
      port: server.port,
      retryStrategy: () => 20,
      disconnectTimeout: 50,
      commandTimeout: 1000,
    });
    this.client.on('error', () => undefined); // It is there to be killed.
  }

  get host(): string {
    return this.server.host;
  }

  get port(): number {
    return this.server.port;
  }

  /** Neither killed nor stopped. */
  get runs(): boolean {
    return !this.stopped && !this.gone;
  }

  /** As a crash does. */
  async kill(): Promise<void> {
    this.gone = true;
    await this.server.kill();
  }

  /** It hangs (SIGSTOP) until `cont()`, after which it takes itself for what it was until it is told otherwise. */
  stop(): void {
    this.stopped = true;
    this.server.pause();
  }

  cont(): void {
    this.server.resume();
    this.stopped = false;
  }

  /** Comes back on its port, without data: who is brought back as a master before it was replaced serves nothing. */
  async restart(): Promise<void> {
    await this.server.restart();
    this.stopped = this.gone = false;
  }

  async dispose(): Promise<void> {
    this.client.disconnect();
    await this.server.stop();
  }
}
