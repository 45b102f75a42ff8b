import type { Attempt } from './attempt.js';
import { CHARGES } from './charges.js';
import { CLOCKS } from './clocks.js';
import { LIMITS } from './limits.js';
import { REDIS } from './redis.js';
import type { PromiseName } from './titles.js';

/** How each promise is tried. */
export const PROMISES: Readonly<Record<PromiseName, Attempt>> = { ...LIMITS, ...CHARGES, ...CLOCKS, ...REDIS };
