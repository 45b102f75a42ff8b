import { PodEngine, type Limit, policyOf } from '../pods/engine.js';
import type { Strategy } from './strategy.js';

/** All pods ask one Redis, which stands in the home region. */
export const ONE_REDIS: Strategy = {
  name: 'redis',
  title: 'one Redis',
  regions: [1, 2],
  exact: true,
  build: (world, limit) => {
    const policy = policyOf(limit);
    const server = world.addServer(0);
    return (pod) => PodEngine.onRedis(world.clientOf(pod, server), policy, world.clock, world.settings);
  },
};

/** All pods ask a Cluster of so many masters, in the home region. */
export function cluster(masters: number): Strategy {
  return {
    name: `cluster${masters}`,
    title: `Cluster of ${masters}`,
    regions: [1],
    exact: true,
    build: clusterOf(masters, false),
  };
}

/** A Cluster with as many shards of a global limit as there are masters. */
export function shardedCluster(masters: number): Strategy {
  return {
    name: `shards${masters}`,
    title: `Cluster of ${masters}, ${masters} shards`,
    regions: [1],
    exact: true,
    build: clusterOf(masters, true),
  };
}

function clusterOf(masters: number, sharded: boolean): Strategy['build'] {
  return (world, limit) => {
    const policy = policyOf(sharded && limit.global ? inShards(limit, masters) : limit);
    const servers = Array.from({ length: masters }, () => world.addServer(0));
    return (pod) => PodEngine.onRedis(world.clusterClientOf(pod, servers), policy, world.clock, world.settings);
  };
}

/** A limit in shards. The library takes only as many as divide the capacity, so it may be a little less. */
function inShards(limit: Limit, shards: number): Limit {
  return { ...limit, capacity: limit.capacity - (limit.capacity % shards), shards };
}
