import { blockFor } from './block-for.js';
import { concurrency } from './concurrency.js';
import { distinct512, distinct64, hot512, single, singlePipelined } from './decisions.js';
import { keysGrowth, logGrowth } from './growth.js';
import { httpExpress, httpFastify } from './http.js';
import { prefetch } from './prefetch.js';
import { linger } from './linger.js';
import { memory } from './memory.js';
import { memoryStore } from './memory-store.js';
import { metrics } from './metrics.js';
import { openLoop } from './open-loop.js';
import { overrides } from './overrides.js';
import { plans } from './plans.js';
import { algorithms, policies2 } from './policies.js';
import { refused } from './refused.js';
import { settle } from './settle.js';
import { shadow } from './shadow.js';
import { sizing } from './sizing.js';

/**
 * @typedef {object} Scenario
 * @property {string[]} ratios the names of those that it measures
 * @property {(bench: object) => Promise<{ ratios: object, tables: object[] }>} run
 */
export const SCENARIOS = [
  distinct512,
  distinct64,
  single,
  singlePipelined,
  hot512,
  sizing,
  openLoop,
  prefetch,
  refused,
  algorithms,
  policies2,
  logGrowth,
  keysGrowth,
  memory,
  httpExpress,
  httpFastify,
  memoryStore,
  metrics,
  overrides,
  plans,
  shadow,
  settle,
  concurrency,
  blockFor,
  linger,
];
