import { identities, late } from '../../floodgate.js';
import { verify } from '../../measure.js';
import { askingUsers, featureScenario, openOwn, openPeer } from './support.js';

const POLICIES = {
  // Slow enough that the refill has not paid a reservation off before it is settled.
  bucket: { algorithm: 'token-bucket', capacity: 1_000_000, refill: '1000/h' },
  proof: { algorithm: 'token-bucket', capacity: 10, refill: '1/h' },
};
const CONSUMED = 'consume';
const LESS = 'reserve 3, settle 1';
const PEER = 'rate-limiter-flexible';

/** What a settlement costs where the final cost is another one. */
export const settle = featureScenario({
  title: 'Settlements',
  url: import.meta.url,
  base: CONSUMED,
  prices: { settle: LESS },
  peer: PEER,
});

export async function contestants(bench, place) {
  const open = () => openOwn(bench, place, POLICIES);
  const [plain, less, same] = [await open(), await open(), await open()];
  await proveRefund(less);
  const settled = (name, limiter, cost, isRight) =>
    askingUsers(name, async (user) => (await limiter.reserve('bucket', user, { cost: 3 })).settle(cost), {
      right: ({ settledBy, policies }) => settledBy === 'store' && isRight(policies[0].refunded),
      // A settlement that misses the deadline does not reject.
      late: (answer) => late(answer) || answer.error !== undefined,
    });
  return [
    // One option, as a reservation has it. It says nothing, so that the charge is the one that was kept.
    askingUsers(CONSUMED, (user) => plain.consume('bucket', user, { cost: undefined })),
    settled(LESS, less, 1, (refunded) => refunded > 0 && refunded <= 2),
    settled('reserve 3, settle 3', same, 3, (refunded) => refunded === 0),
    await openPeer(bench, place, { name: PEER }),
    await rewarding(bench, place),
  ];
}

/** Of a bucket of 10, a reservation of 8 that is settled at 2 leaves 8. */
async function proveRefund(limiter) {
  const [identity] = identities(1);
  const reservation = await limiter.reserve('proof', identity, { cost: 8 });
  const before = await limiter.peek('proof', identity);
  await reservation.settle(2);
  const after = await limiter.peek('proof', identity);
  const left = [before, after].map(({ policies }) => policies[0].remaining);
  verify(left.join() === '2,8', `a reservation of 8 settled at 2 left ${left.join(', then ')} of 10`);
}

/** The peer's way: three points are consumed, two rewarded. What it has consumed in the end is one for each question. */
async function rewarding(bench, place) {
  const peer = await openPeer(bench, place, { keyPrefix: 'rward' });
  const { limiter, users } = peer;
  let rounds = 0;
  return {
    ...peer,
    name: `${PEER}, consume 3 and reward 2`,
    ask: async (i) => {
      const key = users[i % users.length];
      await limiter.consume(key, 3);
      return limiter.reward(key, 2);
    },
    after: async (decisions) => {
      // The first user is asked once more than the last one where the load ended in between.
      rounds += Math.ceil(decisions / users.length);
      const { consumedPoints } = await limiter.get(users[0]);
      verify(consumedPoints === rounds, `${consumedPoints} points stayed consumed of ${rounds} questions`);
    },
  };
}
