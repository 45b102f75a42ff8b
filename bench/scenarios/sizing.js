import { rateLimiterFlexible } from '../contestants.js';
import { identities, late, openLimiter, passed, redisKeyOf, user } from '../floodgate.js';
import { measure, median, ratio, verify } from '../measure.js';

const KEYS = 10_000;
const POLICIES = { bucket: { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 } };
const ROWS = [1, 2, 4, 8, 16, 32];
const PEER = 'rate-limiter-flexible';

/** How often a limiter asks Redis for new overrides. */
const POLL_MS = 400;

/** Each asks for one call at a time: Redis has one call to run, or several pods' at once. */
const QUIET = { pods: 1, title: 'one pod, one call at a time' };
const BUSY = { pods: 8, title: '8 pods, one call each at a time' };

/** What a call costs Redis, and a decision, by the decisions of a call: from it follows how many a core can make. */
export const sizing = {
  ratios: ['sizing.rows1', 'sizing.rows32', 'sizing.quiet', 'sizing.spread'],
  async run(bench) {
    const busy = await alone(bench, (own) => measured(own, BUSY));
    const quiet = await alone(bench, (own) => measured(own, QUIET));
    return {
      ratios: {
        'sizing.rows1': ratio(busy.get(nameOf(1)), busy.get(PEER), 'redis'),
        'sizing.rows32': ratio(busy.get(nameOf(32)), busy.get(PEER), 'redis'),
        'sizing.quiet': ratio(quiet.get(nameOf(1)), quiet.get(PEER), 'redis'),
        'sizing.spread': ratio(busy.get(nameOf(1)), busy.get(nameOf(32)), 'redis'),
      },
      tables: [sizingTable(BUSY, busy), sizingTable(QUIET, quiet)],
    };
  },
};

const nameOf = (rows) => `${rows} a call`;

/** Closes what the measurement has opened: limiters that nobody asks any more would still ask for new overrides. */
async function alone(bench, measurement) {
  const closing = [];
  try {
    return await measurement({ ...bench, onClose: (close) => closing.unshift(close) });
  } finally {
    for (const close of closing) await close();
  }
}

async function measured(bench, { pods }) {
  // A limiter for each pod: requests share a call with those of their own process only.
  const limiters = [];
  // A deadline that a busy machine keeps: CPU is measured, not time.
  const options = { redis: bench.url, policies: POLICIES, deadline: '1s' };
  while (limiters.length < pods) limiters.push(await openLimiter(bench, options));
  const { length } = await redisKeyOf(bench, limiters[0], 'bucket', user(0));
  const users = identities(KEYS);
  // Redis has learned the script, and each pod that it has.
  for (const limiter of limiters) await limiter.consume('bucket', users[0]);

  const contestants = ROWS.map((rows) => ({
    name: nameOf(rows),
    rows,
    // Made without a pause in between, they share a turn of the event loop.
    ask: (i, pod) =>
      Promise.all(
        Array.from({ length: rows }, (_, n) => limiters[pod].consume('bucket', users[(i * rows + n) % KEYS])),
      ),
    right: (decisions) => Array.isArray(decisions) && decisions.every(passed),
    late,
    ...sharing(limiters, rows),
  }));
  // Each lane is a connection of its own, as a pod has it.
  const peers = [];
  while (peers.length < pods) peers.push(await rateLimiterFlexible(bench, { keys: KEYS, length }));
  contestants.push({ ...peers[0], name: PEER, ask: (i, pod) => peers[pod].ask(i) });
  return measure(contestants, { inFlight: pods, bench });
}

/** Checks that each call carried `rows` decisions: as the library counts its batches, and as Redis counts its scripts. */
function sharing(limiters, rows) {
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const read = () => sum(limiters.map((limiter) => limiter.stats().batchSizes.count));
  let before;
  let start;
  return {
    before: () => {
      before = read();
      start = performance.now();
    },
    after: (decisions, { calls }) => {
      const batches = read() - before;
      verify(batches * rows === decisions, `${decisions} decisions in calls of ${rows} took ${batches} calls`);
      // Each limiter also asks for new overrides.
      const polls = limiters.length * (2 + (performance.now() - start) / POLL_MS);
      verify(calls >= batches && calls <= batches + polls, `Redis ran ${calls} scripts for ${batches} calls`);
    },
  };
}

function sizingTable({ title }, samples) {
  const lines = [...samples].map(([name, all]) => {
    const perDecision = median(all.map(({ redis }) => redis));
    const perCall = median(all.map(({ redis, perCall: rows }) => redis * rows));
    return [name, perCall.toFixed(1), perDecision.toFixed(2), Math.round(1e6 / perDecision).toLocaleString('en')];
  });
  return {
    title: `Redis by the decisions of a call: ${title}`,
    head: ['', 'Redis us a call', 'Redis us a decision', 'decisions/s a core'],
    lines,
  };
}
