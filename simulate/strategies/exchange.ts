import { PodEngine, policyOf } from '../pods/engine.js';
import { Direction } from '../network/link.js';
import { ProgramTwin } from '../redis/program-twin.js';
import { Random } from '../time/random.js';
import type { World } from '../world.js';
import type { Strategy } from './strategy.js';

/**
 * Each region has a Redis with the whole limit, and tells the others every few milliseconds what it has admitted; they charge it
 * then, whether it fits or not. The library has no such thing: it admits too much for as long as an exchange takes.
 */
export const EXCHANGE: Strategy = {
  name: 'exchange',
  title: 'a Redis a region, exchange',
  regions: [2],
  exact: false,
  simulatedOnly: true,
  build: (world, limit) => {
    const policy = policyOf(limit);
    const twins = Array.from({ length: world.settings.regions }, () => new ProgramTwin());
    const servers = twins.map((twin, region) => world.addServer(region, twin));
    for (const [from, twin] of twins.entries()) {
      for (const [to, other] of twins.entries()) if (from !== to) exchange(world, [from, twin], [to, other]);
    }
    return (pod) => PodEngine.onRedis(world.clientOf(pod, servers[pod.region]!), policy, world.clock, world.settings);
  },
};

function exchange(
  world: World,
  [from, twin]: [region: number, ProgramTwin],
  [to, other]: [region: number, ProgramTwin],
): void {
  const { scheduler, settings } = world;
  const way = new Direction(scheduler, world.path(from, to), new Random(settings.seed + from));
  const send = (): void => {
    const charged = twin.chargedSinceAsked();
    if (charged.size > 0) {
      way.send(scheduler.now, () => {
        for (const [key, one] of charged) other.debit(key, one, world.clock());
      });
    }
    scheduler.after(settings.exchangeMs * 1000, send);
  };
  scheduler.after(settings.exchangeMs * 1000, send);
}
