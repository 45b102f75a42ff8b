import { ALONE, DIVIDED, PARTS } from './apart.js';
import { cluster, ONE_REDIS, shardedCluster } from './exact.js';
import { EXCHANGE } from './exchange.js';
import { lease } from './lease.js';
import { NAIVE_LEASE } from './naive-lease.js';
import type { Strategy } from './strategy.js';

/** In the order of the tables. */
export const STRATEGIES: readonly Strategy[] = [
  ONE_REDIS,
  cluster(3),
  cluster(6),
  shardedCluster(3),
  shardedCluster(6),
  lease(100),
  lease(1000),
  DIVIDED,
  EXCHANGE,
  PARTS,
  NAIVE_LEASE,
  ALONE,
];
