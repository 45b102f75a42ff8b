import { RateLimiterUnion } from 'rate-limiter-flexible';
import { identities, passed } from '../../floodgate.js';
import { counted, verify } from '../../measure.js';
import { askingUsers, BUCKET, featureScenario, openOwn, openPeer } from './support.js';

const ONE = 'one policy';
const TWO = 'two policies';
const WITH_GLOBAL = 'one, and one for everybody';
const PEER = 'rate-limiter-flexible';

const POLICIES = {
  first: BUCKET,
  other: BUCKET,
  all: { ...BUCKET, capacity: 100_000_000, by: 'global' },
  few: { algorithm: 'token-bucket', capacity: 10, refill: '1/h' },
  less: { algorithm: 'token-bucket', capacity: 5, refill: '1/h' },
};
/** What the peer's proof lets pass. */
const POINTS = { first: 10, other: 5 };

/** What a second policy of a request costs, with a key for each user or with one for everybody. */
export const secondPolicy = featureScenario({
  title: 'Policies of a request',
  url: import.meta.url,
  base: ONE,
  prices: { secondPolicy: TWO },
  peer: PEER,
});

export async function contestants(bench, place) {
  const asking = async (name, policies) => {
    const limiter = await openOwn(bench, place, POLICIES);
    await proveBoth(limiter);
    const last = policies.at(-1);
    return askingUsers(name, (user) => limiter.consume(policies, user), {
      right: (decision) => passed(decision) && decision.policies.length === policies.length,
      ...counted(`decided by ${last}`, () => requestsOf(limiter, last)),
    });
  };
  return [
    // An array as well: the call differs in the second policy alone.
    await asking(ONE, ['first']),
    await asking(TWO, ['first', 'other']),
    await asking(WITH_GLOBAL, ['first', 'all']),
    await openPeer(bench, place, { name: PEER }),
    await united(bench, place),
  ];
}

function requestsOf(limiter, name) {
  return limiter.stats().policies.find(({ policy }) => policy === name)?.requests ?? 0;
}

/** Of 8 requests, 5 pass a policy of 10 and one of 5; the rejected ones charge neither. */
async function proveBoth(limiter) {
  const [identity] = identities(1);
  let admitted = 0;
  for (let i = 0; i < 8; i++) if (passed(await limiter.consume(['few', 'less'], identity))) admitted++;
  const { remaining } = (await limiter.peek('few', identity)).policies[0];
  verify(admitted === 5 && remaining === 5, `${admitted} of 8 passed both policies, and ${remaining} of 10 are left`);
}

/** The peer's RateLimiterUnion. It consumes from both in any case: a request that one rejects is counted by the other. */
async function united(bench, place) {
  const pair = async (prefixes, points) => {
    const one = await openPeer(bench, place, { keyPrefix: prefixes[0], ...(points && { points: points.first }) });
    const other = await openPeer(bench, place, {
      keyPrefix: prefixes[1],
      ...(place.isRedis && { storeClient: one.limiter.client }),
      ...(points && { points: points.other }),
    });
    return { one, other, union: new RateLimiterUnion(one.limiter, other.limiter) };
  };
  await proveUnion(await pair(['prov1', 'prov2'], POINTS));
  const { one, other, union } = await pair(['rlfl1', 'rlfl2']);
  const { users } = one;
  const consumed = async () => {
    const results = await Promise.all([one, other].map(({ limiter }) => limiter.get(users[0])));
    return results.map((result) => result?.consumedPoints ?? 0);
  };
  let asked = 0;
  return {
    name: `${PEER}, RateLimiterUnion of two`,
    ask: (i) => union.consume(users[i % users.length]),
    right: (answer) => answer.rlfl1?.consumedPoints >= 1 && answer.rlfl2?.consumedPoints >= 1,
    after: async (decisions) => {
      asked += Math.ceil(decisions / users.length);
      const both = await consumed();
      verify(both.join() === `${asked},${asked}`, `the two consumed ${both.join(' and ')} of ${asked} requests`);
    },
  };
}

async function proveUnion({ one, union }) {
  let admitted = 0;
  for (let i = 0; i < 8; i++) {
    const hasPassed = await union.consume(one.users[0]).then(
      () => true,
      () => false,
    );
    if (hasPassed) admitted++;
  }
  verify(admitted === POINTS.other, `${admitted} of 8 passed a union of 10 and 5`);
}
