import type { SeedStrategy } from '../strategy.js';
import { BUCKETS } from './buckets.js';
import { ELSE } from './else.js';
import { LEASES } from './leases.js';
import { OVERRIDES } from './overrides.js';
import { PREFETCH } from './prefetch.js';
import { SETTLE } from './settle.js';

/** In the order in which seeds take turns. */
export const SEED_STRATEGIES: readonly SeedStrategy[] = [BUCKETS, SETTLE, ELSE, LEASES, OVERRIDES, PREFETCH];
