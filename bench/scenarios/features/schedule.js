import { identities, late } from '../../floodgate.js';
import { verify } from '../../measure.js';
import { askingUsers, BUCKET, featureScenario, openOwn } from './support.js';

const POLICIES = { bucket: BUCKET, proof: { algorithm: 'token-bucket', capacity: 2, refill: 50 } };
const CONSUMED = 'consume';
const SCHEDULED = 'schedule, with room';
const DONE = { done: true };

/** What a call costs that runs at once: beside the decision, the look at the queue and the call of the function. */
export const schedule = featureScenario({
  title: 'Scheduled calls',
  url: import.meta.url,
  base: CONSUMED,
  prices: { schedule: SCHEDULED },
});

export async function contestants(bench, place) {
  const open = () => openOwn(bench, place, POLICIES);
  const [plain, queued] = [await open(), await open()];
  await proveTurns(queued);
  const work = () => DONE;
  return [
    askingUsers(CONSUMED, (user) => plain.consume('bucket', user)),
    askingUsers(SCHEDULED, (user) => queued.schedule('bucket', user, work), {
      right: (answer) => answer === DONE,
      late,
    }),
  ];
}

/** Four calls under a bucket of two tokens: the third and the fourth one wait for 20 ms each. */
async function proveTurns(limiter) {
  const [identity] = identities(1);
  const since = performance.now();
  const order = [];
  await Promise.all([1, 2, 3, 4].map((i) => limiter.schedule('proof', identity, () => order.push(i))));
  const ms = performance.now() - since;
  verify(order.join() === '1,2,3,4' && ms > 39, `the calls ran as ${order.join()}, in ${ms.toFixed(1)} ms`);
}
