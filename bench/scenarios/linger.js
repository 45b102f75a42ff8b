import { identities, late, openLimiter, passed } from '../floodgate.js';
import { Disturbed, inTurn, median, ratio } from '../measure.js';
import { redisCpu } from '../redis.js';
import { figure } from '../table.js';

const KEYS = 10_000;
const POLICIES = { distinct: { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 } };
/** Requests per second of one process. */
const RATES = [250, 1_000, 4_000];
const LINGERS = [0, 1, 2, 4];
/** The one whose ratios are printed as prices. */
const PRICED = 4;
const DEADLINE_MS = 1_000;

const nameOf = (lingerMs) => (lingerMs === 0 ? 'no linger' : `linger: ${lingerMs} ms`);

/** What `linger` saves Redis, and what it costs in latency: requests come at a rate, whatever the answers take. */
export const linger = {
  ratios: RATES.map((rate) => `linger.redisCpu${rate}`),
  async run(bench) {
    const users = identities(KEYS);
    const contestants = [];
    for (const lingerMs of LINGERS) {
      const limiter = await openLimiter(bench, {
        redis: bench.url,
        policies: POLICIES,
        deadline: DEADLINE_MS,
        ...(lingerMs > 0 && { linger: lingerMs }),
      });
      contestants.push({ name: nameOf(lingerMs), limiter, users });
    }
    const ratios = {};
    const tables = [];
    for (const rate of RATES) {
      const samples = await inTurn(contestants, bench, (contestant, ms) =>
        openLoad(contestant, { rate, ms, admin: bench.admin }),
      );
      const [plain, priced] = [0, PRICED].map((lingerMs) => samples.get(nameOf(lingerMs)));
      ratios[`linger.redisCpu${rate}`] = ratio(priced, plain, 'redis');
      tables.push(curve(`Linger: ${rate} requests/s of one process, each of another user`, samples, plain));
    }
    return { ratios, tables };
  },
};

/** Sends requests at random instants, `rate` a second on average, from a loop that never sleeps: timers would bunch them. */
async function openLoad({ limiter, users, name }, { rate, ms, admin }) {
  const before = limiter.stats().batchSizes;
  const redisBefore = await redisCpu(admin);
  const latencies = [];
  let [asked, answered] = [0, 0];
  let wrong;
  const ask = async () => {
    const at = performance.now();
    const answer = await limiter.consume('distinct', users[asked++ % KEYS]).catch((error) => error);
    latencies.push((performance.now() - at) * 1000);
    answered++;
    if (!passed(answer)) wrong ??= answer;
  };
  const start = performance.now();
  let due = start;
  await new Promise((resolve) => {
    const turn = () => {
      for (
        const now = performance.now();
        due <= now && due - start < ms;
        due += (-Math.log(1 - Math.random()) * 1000) / rate
      ) {
        void ask();
      }
      if (due - start >= ms && answered === asked) resolve();
      else setImmediate(turn);
    };
    turn();
  });
  const redis = (await redisCpu(admin)) - redisBefore;
  if (wrong !== undefined && late(wrong)) throw new Disturbed(`${name} missed its deadline`);
  if (wrong !== undefined) throw new Error(`${name} gave a wrong answer`, { cause: wrong });
  const { sum, count } = limiter.stats().batchSizes;
  latencies.sort((one, other) => one - other);
  return {
    rows: (sum - before.sum) / (count - before.count),
    redis: redis / asked,
    latency: median(latencies),
    slow: latencies[Math.floor(latencies.length * 0.99)],
  };
}

function curve(title, samples, plain) {
  const of = (mine, key) => median(mine.map((sample) => sample[key]));
  const lines = [...samples].map(([name, mine]) => {
    const { median: middle } = ratio(mine, plain, 'redis');
    return [
      name,
      of(mine, 'rows').toFixed(2),
      of(mine, 'redis').toFixed(1),
      figure(middle),
      of(mine, 'latency').toFixed(0),
      of(mine, 'slow').toFixed(0),
    ];
  });
  return {
    title,
    head: ['', 'requests a call', 'Redis us', 'to no linger', 'median latency us', '99% latency us'],
    lines,
  };
}
