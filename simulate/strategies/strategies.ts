import { ALONE, DIVIDED, PARTS } from './apart.js';
import { cluster, ONE_REDIS, shardedCluster } from './exact.js';
import { EXCHANGE } from './exchange.js';
import { prefetch } from './prefetch.js';
import { NAIVE_PREFETCH } from './naive-prefetch.js';
import type { Strategy } from './strategy.js';

/** In the order of the tables. */
export const STRATEGIES: readonly Strategy[] = [
  ONE_REDIS,
  cluster(3),
  cluster(6),
  shardedCluster(3),
  shardedCluster(6),
  prefetch(100),
  prefetch(1000),
  DIVIDED,
  EXCHANGE,
  PARTS,
  NAIVE_PREFETCH,
  ALONE,
];
