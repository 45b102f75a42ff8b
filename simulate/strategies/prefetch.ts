import { PodEngine, policyOf } from '../pods/engine.js';
import type { Strategy } from './strategy.js';

/**
 * All pods prefetch tokens from one Redis in the home region, and ask that Redis where they have none.
 *
 * @param ms how long a prefetch lasts
 */
export function prefetch(ms: number, max = 200): Strategy {
  return {
    name: `prefetch${ms}`,
    title: `one Redis, prefetch ${ms} ms`,
    regions: [1, 2],
    exact: true,
    build: (world, limit) => {
      const policy = policyOf({ ...limit, prefetch: { for: `${ms}ms`, max } });
      const server = world.addServer(0);
      return (pod) => PodEngine.onRedis(world.clientOf(pod, server), policy, world.clock, world.settings);
    },
  };
}
