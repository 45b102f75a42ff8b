import { setTimeout as delay } from 'node:timers/promises';
import { Processes } from '../../support/processes.js';
import { type Random, randomOf } from '../../support/random.js';
import { type Span, StallMeter, wallAheadMs } from '../clock.js';
import type { procedures, Weather } from '../network/main.js';
import { PODS } from '../plan.js';
import { Load } from './load.js';
import { Pod } from './pod.js';
import type { ChaosOptions } from '../options.js';
import { ChaosRedis } from './redis.js';

/** The parts of a run: Redis, the network, pods and clients. */
export class Scene implements AsyncDisposable {
  /** The times at which this process, the network's process, or Redis without the proxies was slow. */
  readonly slow: Span[] = [];
  /** The times at which this process was slow, which delays the clients. */
  readonly stalls: Span[] = [];
  readonly wrong: { readonly at: number; readonly text: string }[] = [];
  /** How far the wall clock is ahead of `now()`, in milliseconds. */
  readonly wallAheadMs = wallAheadMs();
  private readonly meter = new StallMeter((stall) => this.stalls.push(stall));

  private constructor(
    readonly folder: string,
    readonly redis: ChaosRedis,
    private readonly network: Processes<typeof procedures>,
    readonly pods: readonly Pod[],
    readonly load: Load,
    /** The random choices of faults while they last. */
    readonly random: Random,
  ) {}

  static async start(folder: string, { seed, client }: Pick<ChaosOptions, 'seed' | 'client'>): Promise<Scene> {
    const redis = await ChaosRedis.start();
    const script = new URL('../network/main.ts', import.meta.url);
    const network = await Processes.start<typeof procedures>(script, 1).catch(async (error: unknown) => {
      await redis[Symbol.asyncDispose]();
      throw error;
    });
    const [ports] = await network.all('open', () => ({ port: redis.port, count: PODS }));
    const pods = ports!.map((redisPort, index) => {
      const platform = index % 2 === 0 ? 'Express' : 'Fastify';
      return new Pod({ index, platform, redisPort, client, folder, seed: seed * 100 + index * 20 });
    });
    const load = new Load(pods, randomOf(seed + 1));
    const scene = new Scene(folder, redis, network, pods, load, randomOf(seed + 2));
    try {
      await Promise.all(pods.map((pod) => pod.start()));
      return scene;
    } catch (error) {
      await scene[Symbol.asyncDispose]();
      throw error;
    }
  }

  async weather(pod: number, weather: Weather): Promise<void> {
    await this.network.all('set', () => ({ pod, weather }));
  }

  async resetConnections(pod: number): Promise<void> {
    await this.network.all('reset', () => pod);
  }

  /** Orders the pods to measure their live heaps. They write the figures into their histories. */
  async measureHeaps(): Promise<void> {
    for (const pod of this.pods) {
      if (pod.serves) pod.tell({ heap: true });
      await delay(100);
    }
  }

  async collectSlow(): Promise<void> {
    const [slow] = await this.network.all('slow', () => undefined as never);
    this.slow.push(...slow!);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.meter.stop();
    await Promise.all(this.pods.map((pod) => pod.stop('SIGKILL')));
    await this.network.stop();
    await this.redis[Symbol.asyncDispose]();
  }
}
