import { identities, passed } from '../../floodgate.js';
import { verify } from '../../measure.js';
import { askingUsers, BUCKET, featureScenario, openOwn } from './support.js';

const FEW = { algorithm: 'token-bucket', capacity: 10, refill: '1/h' };
const POLICIES = { requests: BUCKET, tokens: BUCKET, few: FEW, less: FEW };
const PAIR = ['requests', 'tokens'];
const ONE = 'one cost for both policies';
const BY_NAME = 'a cost of one by its name';

/** What a cost by name takes beside one cost: the same two charges are found by an object in the place of a number. */
export const costByName = featureScenario({
  title: 'A cost by name',
  url: import.meta.url,
  base: ONE,
  prices: { costByName: BY_NAME },
});

export async function contestants(bench, place) {
  const [one, byName] = [await openOwn(bench, place, POLICIES), await openOwn(bench, place, POLICIES)];
  await proveCosts(byName);
  const right = (decision) => passed(decision) && decision.policies.length === PAIR.length;
  // Both calls make their options anew, as a call does whose cost is an estimate.
  return [
    askingUsers(ONE, (user) => one.consume(PAIR, user, { cost: 3 }), { right }),
    askingUsers(BY_NAME, (user) => byName.consume(PAIR, user, { cost: { tokens: 3 } }), { right }),
  ];
}

/** Of two buckets of 10, a call that names a cost of 4 for the second one leaves 9 and 6. */
async function proveCosts(limiter) {
  const [identity] = identities(1);
  const { policies } = await limiter.consume(['few', 'less'], identity, { cost: { less: 4 } });
  const left = policies.map(({ remaining }) => remaining);
  verify(left.join() === '9,6', `a cost of 4 by name left ${left.join(' and ')} of 10 each`);
}
