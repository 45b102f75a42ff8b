import { openArrivals } from '../arrivals.js';
import { identities, openLimiter } from '../floodgate.js';
import { inTurn, ratio } from '../measure.js';
import { openLoad, openLoopTable } from './open-loop.js';

/** Of one key: all requests pass, and the bucket holds more than twice what they use in the time of a prefetch. */
const HOT = { algorithm: 'token-bucket', capacity: 20_000, refill: 20_000 };
const POLICIES = { plain: HOT, prefetched: { ...HOT, prefetch: { for: '100ms', max: 2_000 } } };
const RATES = [250, 1_000];

/** What prefetch saves: one hot key, at random instants. */
export const prefetch = {
  ratios: RATES.map((rate) => `prefetch.redisCpu${rate}`),
  async run(bench) {
    const arrivals = openArrivals(bench);
    const limiter = await openLimiter(bench, { redis: bench.url, policies: POLICIES, deadline: '1s' });
    const [identity] = identities(1);
    const contestants = RATES.flatMap((rate) =>
      Object.keys(POLICIES).map((policy) => ({
        name: `${policy}, ${rate.toLocaleString('en')} requests/s`,
        policy,
        rate,
      })),
    );
    for (const { policy } of contestants) await limiter.consume(policy, identity); // Redis has learned the scripts
    const right = ({ allowed, decidedBy }) => allowed && (decidedBy === 'store' || decidedBy === 'prefetch');
    const samples = await inTurn(contestants, bench, ({ policy, rate }, ms) =>
      openLoad({ bench, arrivals, limiter, ask: () => limiter.consume(policy, identity), right, rate, ms }),
    );
    const [plain, prefetched] = Object.keys(POLICIES).map(
      (policy) => (rate) => samples.get(contestants.find((one) => one.policy === policy && one.rate === rate).name),
    );
    return {
      ratios: Object.fromEntries(
        RATES.map((rate) => [`prefetch.redisCpu${rate}`, ratio(prefetched(rate), plain(rate), 'redis')]),
      ),
      tables: [openLoopTable('One hot key, with and without prefetch', samples)],
    };
  },
};
