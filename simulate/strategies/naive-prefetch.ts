import type { Decider, Outcome } from '../pods/decider.js';
import { PodEngine, policyOf } from '../pods/engine.js';
import type { Strategy } from './strategy.js';
import type { World } from '../world.js';

/** Tokens that a pod takes at a time. */
const BATCH = 20;

/**
 * A pod takes tokens from Redis and keeps them until it needs them. It admits too much: the bucket refills while the tokens lie
 * unused. The simulation has it to show that the oracle finds that.
 */
export const NAIVE_PREFETCH: Strategy = {
  name: 'naive-prefetch',
  title: 'naive prefetch (kept tokens)',
  regions: [1, 2],
  exact: false,
  simulatedOnly: true,
  build: (world, limit) => {
    const policy = policyOf(limit);
    const server = world.addServer(0);
    const batch = Math.min(BATCH, limit.capacity);
    return (pod) => {
      const engine = PodEngine.onRedis(world.clientOf(pod, server), policy, world.clock, world.settings);
      return new Stock(engine, batch, world);
    };
  },
};

/** The tokens that a pod keeps, by identity. */
class Stock implements Decider {
  private readonly tokens = new Map<string, number>();
  private readonly underWay = new Map<string, Promise<boolean>>();

  constructor(
    private readonly engine: PodEngine,
    private readonly batch: number,
    private readonly world: World,
  ) {}

  decide(identity: string): Outcome | Promise<Outcome> {
    return this.take(identity) ?? this.afterTaking(identity);
  }

  private take(identity: string): Outcome | undefined {
    const left = this.tokens.get(identity) ?? 0;
    if (left === 0) return undefined;
    this.tokens.set(identity, left - 1);
    return { allowed: true, at: Math.floor(this.world.scheduler.now), by: 'prefetch' };
  }

  private async afterTaking(identity: string): Promise<Outcome> {
    let taking = this.underWay.get(identity);
    if (taking === undefined) this.underWay.set(identity, (taking = this.refill(identity)));
    await taking;
    return this.take(identity) ?? { allowed: false, at: Math.floor(this.world.scheduler.now), by: 'prefetch' };
  }

  private async refill(identity: string): Promise<boolean> {
    const { allowed } = await this.engine.decide(identity, this.batch);
    if (allowed) this.tokens.set(identity, (this.tokens.get(identity) ?? 0) + this.batch);
    this.underWay.delete(identity);
    return allowed;
  }
}
