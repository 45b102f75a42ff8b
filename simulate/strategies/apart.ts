import { PodEngine, policyOf } from '../pods/engine.js';
import { partOf, type Strategy } from './strategy.js';

/** Each pod counts alone and gives everybody the whole limit: what a limiter in the process does. */
export const ALONE: Strategy = {
  name: 'alone',
  title: 'each pod alone, all of it',
  regions: [1, 2],
  exact: false,
  build: (world, limit) => {
    const policy = policyOf(limit);
    return () => PodEngine.inMemory(policy, world.clock, world.settings);
  },
};

/** Each pod counts alone and has its part of the limit, at least one token. */
export const PARTS: Strategy = {
  name: 'parts',
  title: 'each pod alone, its part',
  regions: [1, 2],
  exact: false,
  build: (world, limit) => {
    const policy = policyOf(partOf(limit, 1 / world.settings.pods));
    return () => PodEngine.inMemory(policy, world.clock, world.settings);
  },
};

/** Each region has a Redis and an equal part of the limit, by configuration. */
export const DIVIDED: Strategy = {
  name: 'divided',
  title: 'a Redis a region, divided',
  regions: [2],
  exact: true,
  build: (world, limit) => {
    const { regions } = world.settings;
    const policy = policyOf(partOf(limit, 1 / regions));
    const servers = Array.from({ length: regions }, (_, region) => world.addServer(region));
    return (pod) => PodEngine.onRedis(world.clientOf(pod, servers[pod.region]!), policy, world.clock, world.settings);
  },
};
