import { rateLimiterFlexible } from '../contestants.js';
import { late, openLimiter, passed, redisKeyOf, user } from '../floodgate.js';
import { measure, ratio, spread, verify } from '../measure.js';
import { decisionsTable } from '../table.js';

const LIMIT = 10;
const IN_FLIGHT = 512;
// No token comes back within the run: the refusal is certain all along.
const POLICIES = { refused: { algorithm: 'token-bucket', capacity: LIMIT, refill: '1/h' } };

export const refused = {
  ratios: ['refused.throughput', 'refused.commands'],
  async run(bench) {
    const limiter = await openLimiter(bench, { redis: bench.url, policies: POLICIES });
    const { length } = await redisKeyOf(bench, limiter, 'refused', user(1));
    const identity = { kind: 'user', value: user(0) };
    const floodgate = {
      name: 'Floodgate',
      ask: () => limiter.consume('refused', identity),
      right: (decision) => decision.allowed === false && decision.policies[0].retryAfterMs > 0,
      late,
    };
    const options = { keys: 1, length, points: LIMIT };
    const peers = [
      await rateLimiterFlexible(bench, {
        ...options,
        name: 'rate-limiter-flexible, inMemoryBlockOnConsumed',
        inMemoryBlockOnConsumed: LIMIT + 1,
        keyPrefix: 'block',
      }),
      await rateLimiterFlexible(bench, options),
    ];
    // It refuses by rejecting with a result that is no Error.
    const isRefusal = (answer) => !(answer instanceof Error) && answer.remainingPoints === 0 && answer.msBeforeNext > 0;
    const contestants = [floodgate, ...peers.map((peer) => ({ ...peer, right: isRefusal }))];

    await exhaust(floodgate.ask, passed);
    for (const { ask, right } of peers) await exhaust(ask, right);
    const samples = await measure(contestants, { inFlight: IN_FLIGHT, bench });
    return {
      ratios: {
        'refused.throughput': ratio(samples.get('Floodgate'), samples.get(peers[0].name), 'throughput'),
        'refused.commands': spread(samples.get('Floodgate').map(({ commands }) => commands)),
      },
      tables: [decisionsTable('Refused: one client far over its limit, 512 in flight', samples, 'Floodgate')],
    };
  },
};

/** Takes the whole limit, and once more. */
async function exhaust(ask, isAdmission) {
  let admitted = 0;
  for (let i = 0; i <= LIMIT; i++) {
    const answer = await ask(i).catch((rejection) => ({ rejection }));
    if (answer.rejection === undefined && isAdmission(answer)) admitted++;
  }
  verify(admitted === LIMIT, `${admitted} of ${LIMIT + 1} passed a limit of ${LIMIT}`);
}
