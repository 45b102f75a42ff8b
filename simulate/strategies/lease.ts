import { Engine, policyOf } from '../pods/engine.js';
import type { Strategy } from './strategy.js';

/**
 * All pods take leases of tokens from one Redis in the home region, with the policy's option `lease`, and ask that Redis where
 * they have none.
 *
 * @param ms how long a lease lasts
 */
export function lease(ms: number, max = 200): Strategy {
  return {
    name: `lease${ms}`,
    title: `one Redis, lease ${ms} ms`,
    regions: [1, 2],
    exact: true,
    build: (world, limit) => {
      const policy = policyOf({ ...limit, lease: { for: `${ms}ms`, max } });
      const server = world.addServer(0);
      return (pod) => Engine.onRedis(world.clientOf(pod, server), policy, world.clock, world.settings);
    },
  };
}
