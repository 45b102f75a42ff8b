import { openArrivals } from '../arrivals.js';
import { identities, late, openLimiter, passed } from '../floodgate.js';
import { Disturbed, inTurn, median, spread, verify } from '../measure.js';
import { watchUsage } from '../redis.js';

const KEYS = 10_000;
const POLICIES = { bucket: { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 } };
const RATES = [250, 1_000, 4_000, 6_000];
/** What the application does for each request, on the thread of the event loop. */
const WORK_US = 100;
const LONGER = 2;

const nameOf = (rate) => `openLoop.${rate}`;

/** How many requests of one pod really share a call, when they come at a rate and not as fast as they are answered. */
export const openLoop = {
  ratios: RATES.map(nameOf),
  async run(bench) {
    const arrivals = openArrivals(bench);
    const limiter = await openLimiter(bench, { redis: bench.url, policies: POLICIES, deadline: '1s' });
    const users = identities(KEYS);
    await limiter.consume('bucket', users[0]); // Redis has learned the script
    const ask = (i) => limiter.consume('bucket', users[i % KEYS]);
    const load = ({ rate }, ms) => openLoad({ bench, arrivals, limiter, ask, right: passed, rate, ms });
    const contestants = RATES.map((rate) => ({ name: `${rate.toLocaleString('en')} requests/s`, rate }));
    const samples = await inTurn(contestants, bench, load);
    return {
      ratios: Object.fromEntries(
        contestants.map(({ name, rate }) => [nameOf(rate), spread(samples.get(name).map(({ perCall }) => perCall))]),
      ),
      tables: [openLoopTable('One pod, requests at random instants', samples)],
    };
  },
};

/** One load, twice as long as others: a quiet pod has few requests. */
export async function openLoad({ bench, arrivals, limiter, ask, right, rate, ms }) {
  const latencies = [];
  const handle = async (i) => {
    const start = performance.now();
    let decision;
    try {
      decision = await ask(i);
    } catch (error) {
      if (late(error)) throw new Disturbed('Floodgate missed its deadline', { cause: error });
      throw error;
    }
    latencies.push((performance.now() - start) * 1000);
    verify(right(decision), `Floodgate gave a wrong answer: ${JSON.stringify(decision)}`);
    work();
  };
  const usage = await watchUsage([bench.admin]);
  const batchesBefore = limiter.stats().batchSizes.count;
  const loopBefore = performance.eventLoopUtilization();
  const decisions = await arrivals({ rate, ms: ms * LONGER, handle });
  const { utilization } = performance.eventLoopUtilization(loopBefore);
  const { cpu } = await usage();
  return {
    perCall: decisions / (limiter.stats().batchSizes.count - batchesBefore),
    redis: cpu / decisions,
    utilization,
    latency: median(latencies),
    slow: quantile(latencies, 0.99),
  };
}

function work() {
  const end = performance.now() + WORK_US / 1000;
  while (performance.now() < end);
}

function quantile(values, share) {
  return values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1];
}

export function openLoopTable(title, samples) {
  const lines = [...samples].map(([name, all]) => {
    const middle = (key) => median(all.map((sample) => sample[key]));
    return [
      name,
      middle('perCall').toFixed(2),
      middle('redis').toFixed(1),
      `${(100 * middle('utilization')).toFixed(0)} %`,
      middle('latency').toFixed(0),
      middle('slow').toFixed(0),
    ];
  });
  return {
    title: `${title}, ${WORK_US} us of work each`,
    head: ['', 'requests a call', 'Redis us a decision', 'event loop busy', 'latency us', 'p99 us'],
    lines,
  };
}
