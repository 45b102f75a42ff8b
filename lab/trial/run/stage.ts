import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { RedisServer } from '../../../tools/redis-server.js';
import type { Adapter, Limit } from '../adapter.js';
import { type Asked, clock } from './asked.js';
import { Pod } from './pod.js';

/** Of a window: a run that begins later would meet its end. */
const LATEST = 0.4;
const ANSWER_LIMIT_MS = 3_000;

/** A Redis of its own, and the processes of one limiter on it. */
export class Stage implements AsyncDisposable {
  private readonly pods = new Map<string, Promise<Pod>>();
  private keys = 0;

  private constructor(
    readonly adapter: Adapter,
    private readonly path: string,
    readonly server: RedisServer,
    readonly redis: Redis,
  ) {}

  /** @param path the adapter's module, for the processes */
  static async open(adapter: Adapter, path: string): Promise<Stage> {
    const server = await RedisServer.start();
    const redis = new Redis(server.url, { maxRetriesPerRequest: null });
    redis.on('error', () => undefined); // the server goes away in some trials
    return new Stage(adapter, path, server, redis);
  }

  /** The window of the limits. */
  get windowMs(): number {
    return this.adapter.windowMs ?? 1_000;
  }

  /** After which a limit that is used up is free again, by every definition. */
  get freeAfterMs(): number {
    return (this.adapter.definition === 'counter' ? 2 : 1) * this.windowMs + 20;
  }

  /** A key that no request has had. */
  key(): string {
    return `client-${this.keys++}`;
  }

  /**
   * The limiter in so many processes, A, B and so on, which share Redis.
   *
   * @param limits the limit, in windows of `windowMs`; or several limits
   * @param ahead the process whose clock is an hour ahead
   */
  async open(count: number, limits: number | readonly Limit[], ahead?: string): Promise<Pod[]> {
    const all = typeof limits === 'number' ? [{ limit: limits, windowMs: this.windowMs }] : limits;
    const settings = { redisUrl: this.server.url, ...all[0]!, limits: all };
    const options = { answerLimitMs: ANSWER_LIMIT_MS + this.windowMs };
    return Promise.all(
      ['A', 'B', 'C', 'D'].slice(0, count).map((name) => {
        const known = JSON.stringify([name, all, name === ahead]);
        const pod = this.pods.get(known) ?? Pod.start(name, this.path, settings, { ...options, ahead: name === ahead });
        this.pods.set(known, pod);
        return pod;
      }),
    );
  }

  /** Waits until enough of a window that is aligned to the clock is left, and returns the instant at which it ends. */
  async withinWindow(latest = LATEST): Promise<number> {
    const passed = Date.now() % this.windowMs;
    if (passed > latest * this.windowMs) await sleep(this.windowMs - passed + 5);
    return clock() + this.windowMs - (Date.now() % this.windowMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pod of this.pods.values()) (await pod.catch(() => undefined))?.stop();
    this.redis.disconnect();
    await this.server.stop();
  }
}

/** Waits for an instant of the shared clock. */
export async function until(instant: number): Promise<void> {
  for (let left = instant - clock(); left > 0; left = instant - clock()) await sleep(left);
}

/** Sends requests of a key from all processes at once. */
export async function burst(pods: readonly Pod[], key: string, times: number, cost = 1): Promise<Asked[]> {
  return (await Promise.all(pods.map((pod) => pod.ask(key, cost, times / pods.length)))).flat();
}
