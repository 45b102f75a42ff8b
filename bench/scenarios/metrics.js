import { Registry } from 'prom-client';
import { RateLimitMetricsModule } from 'nestjs-floodgate';
import { distinctKeys, openLimiter } from '../floodgate.js';
import { counted, measure, ratio } from '../measure.js';
import { decisionsTable, IN_PROCESS } from '../table.js';

const KEYS = 10_000;
const POLICIES = { bucket: { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 } };
const UNWATCHED = 'unwatched';
const METRICS = 'RateLimitMetricsModule';

/** What it costs to be watched: the same limiter without, with metrics, and with a hook that does nothing. */
export const metrics = {
  ratios: ['metrics.redis', 'metrics.memory'],
  async run(bench) {
    const redis = await watched(bench, { redis: bench.url }, 512);
    const memory = await watched(bench, {}, 1);
    const cost = (samples) => ratio(samples.get(METRICS), samples.get(UNWATCHED), 'node');
    return {
      ratios: { 'metrics.redis': cost(redis), 'metrics.memory': cost(memory) },
      tables: [
        decisionsTable('Watched, on Redis: 10,000 users, 512 in flight', redis, UNWATCHED),
        decisionsTable('Watched, in the process: 10,000 users', memory, UNWATCHED, IN_PROCESS),
      ],
    };
  },
};

async function watched(bench, store, inFlight) {
  const options = { ...store, policies: POLICIES };
  const registry = new Registry();
  const unwatched = await openLimiter(bench, options);
  const measured = await openLimiter(bench, options, [RateLimitMetricsModule.forRoot({ registry })]);
  let told = 0;
  const hooked = await openLimiter(bench, { ...options, onDecision: () => told++ });
  const contestants = [
    distinctKeys(unwatched, 'bucket', KEYS, UNWATCHED),
    { ...distinctKeys(measured, 'bucket', KEYS, METRICS), ...counted('counted', () => allowed(registry)) },
    { ...distinctKeys(hooked, 'bucket', KEYS, 'onDecision'), ...counted('told', () => told) },
  ];
  return measure(contestants, { inFlight, bench });
}

async function allowed(registry) {
  const { values } = await registry.getSingleMetric('rate_limiter_allowed_total').get();
  return values[0].value;
}
