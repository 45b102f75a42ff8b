import { algorithms } from './algorithms.js';
import { distinct512, distinct64, hot512, single, singlePipelined } from './decisions.js';
import { clients1, clients512 } from './clients.js';
import { blockFor } from './features/block-for.js';
import { blockForRefused } from './features/block-for-refused.js';
import { concurrency } from './features/concurrency.js';
import { costByName } from './features/cost-by-name.js';
import { model } from './features/model.js';
import { countIf } from './features/count-if.js';
import { orElse } from './features/else.js';
import { overrides } from './features/overrides.js';
import { plans } from './features/plans.js';
import { priorities } from './features/priorities.js';
import { routes } from './features/routes.js';
import { schedule } from './features/schedule.js';
import { secondPolicy } from './features/second-policy.js';
import { settle } from './features/settle.js';
import { shadow } from './features/shadow.js';
import { watched } from './features/watched.js';
import { keysGrowth, logGrowth } from './growth.js';
import { httpExpress, httpFastify } from './http.js';
import { loading } from './loading.js';
import { memory } from './memory.js';
import { memoryStore } from './memory-store.js';
import { openLoop } from './open-loop.js';
import { prefetch } from './prefetch.js';
import { refused } from './refused.js';
import { serversExpress, serversFastify, serversHono } from './servers.js';
import { shedding } from './shedding.js';
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
  clients512,
  clients1,
  sizing,
  openLoop,
  prefetch,
  refused,
  algorithms,
  logGrowth,
  keysGrowth,
  memory,
  httpExpress,
  httpFastify,
  serversExpress,
  serversFastify,
  serversHono,
  memoryStore,
  settle,
  schedule,
  countIf,
  concurrency,
  plans,
  overrides,
  shadow,
  priorities,
  orElse,
  secondPolicy,
  costByName,
  model,
  blockFor,
  blockForRefused,
  routes,
  watched,
  shedding,
  loading,
];
