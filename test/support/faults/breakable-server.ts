import { Redis } from 'ioredis';
import type { RedisServer } from '../redis-server.js';

/** One server process among several. It records whether the test killed or stopped it. */
export class BreakableServer {
  /** Reconnects by itself, and waits for an answer for three seconds at most: the machine may be busy. */
  readonly client: Redis;
  private stopped = false;
  private gone = false;

  constructor(readonly server: RedisServer) {
    this.client = new Redis({
      host: server.host,
      port: server.port,
      retryStrategy: () => 20,
      disconnectTimeout: 50,
      commandTimeout: 3000,
    });
    this.client.on('error', () => undefined); // Tests kill this server.
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

  /** Ends the process as a crash does. */
  async kill(): Promise<void> {
    this.gone = true;
    await this.server.kill();
  }

  /** Makes the process hang (SIGSTOP) until `cont()`. After that it keeps its former role until another node corrects it. */
  stop(): void {
    this.stopped = true;
    this.server.pause();
  }

  cont(): void {
    this.server.resume();
    this.stopped = false;
  }

  /** Starts again on its port without data. A master that restarts before its replacement serves empty slots. */
  async restart(): Promise<void> {
    await this.server.restart();
    this.stopped = this.gone = false;
  }

  async dispose(): Promise<void> {
    this.client.disconnect();
    await this.server.stop();
  }
}
