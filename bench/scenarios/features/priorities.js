import { identities, passed } from '../../floodgate.js';
import { verify } from '../../measure.js';
import { askingUsers, BUCKET, featureScenario, openOwn } from './support.js';

const PLAIN = 'a policy';
const LOW = 'a class that leaves half of it free';
const CLASSES = { priorities: { critical: 1, background: 0.5 }, priority: 'background' };

/** What a class of a policy with priorities costs: it asks for more than it takes, in the same call. */
export const priorities = featureScenario({
  title: 'Priorities',
  url: import.meta.url,
  base: PLAIN,
  prices: { priorities: LOW },
});

export async function contestants(bench, place) {
  const plain = await openOwn(bench, place, { bucket: BUCKET });
  const low = await openOwn(bench, place, {
    bucket: { ...BUCKET, ...CLASSES },
    proof: { algorithm: 'token-bucket', capacity: 4, refill: '1/h', ...CLASSES },
  });
  await proveReserve(low);
  return [
    askingUsers(PLAIN, (user) => plain.consume('bucket', user)),
    askingUsers(LOW, (user) => low.consume('bucket', user), {
      right: (decision) => passed(decision) && decision.policies[0].limit === BUCKET.capacity / 2,
    }),
  ];
}

/** Of a bucket of 4 the class may take 2. The others are there for the class above it. */
async function proveReserve(limiter) {
  const [identity] = identities(1);
  const allowed = [];
  for (let i = 0; i < 3; i++) allowed.push((await limiter.consume('proof', identity)).allowed);
  for (let i = 0; i < 3; i++) {
    allowed.push((await limiter.consume('proof', identity, { priority: 'critical' })).allowed);
  }
  verify(allowed.join() === 'true,true,false,true,true,false', `a bucket of 4 answered ${allowed.join()}`);
}
