import { identities, passed } from '../../floodgate.js';
import { counted, verify } from '../../measure.js';
import { askingUsers, BUCKET, featureScenario, KEYS, openOwn } from './support.js';

const PLAIN = 'a policy without else';
const UNUSED = 'else, which no request needs';
const RUN_OVER = 'else, which every request needs';

const EMPTY = { algorithm: 'token-bucket', capacity: 1, refill: '1/d', else: 'credits' };
const POLICIES = {
  plain: { bucket: BUCKET },
  unused: {
    bucket: { ...BUCKET, else: 'credits' },
    proof: { ...EMPTY, else: 'few' },
    few: { algorithm: 'token-bucket', capacity: 2, refill: '1/d' },
    credits: BUCKET,
  },
  runOver: { bucket: EMPTY, credits: BUCKET },
};

/** What a policy's `else` costs requests that fit the policy, and requests that the other policy takes. */
export const orElse = featureScenario({
  title: 'else',
  url: import.meta.url,
  base: PLAIN,
  prices: { elseUnused: UNUSED, elseRunsOver: RUN_OVER },
});

export async function contestants(bench, place) {
  const plain = await openOwn(bench, place, POLICIES.plain);
  const unused = await openOwn(bench, place, POLICIES.unused);
  const runOver = await openOwn(bench, place, POLICIES.runOver);
  await proveElse(unused);
  await Promise.all(identities(KEYS).map((user) => runOver.consume('bucket', user)));
  return [
    askingUsers(PLAIN, (user) => plain.consume('bucket', user)),
    askingUsers(UNUSED, (user) => unused.consume('bucket', user), { right: isOf('bucket') }),
    askingUsers(RUN_OVER, (user) => runOver.consume('bucket', user), {
      right: isOf('credits'),
      ...counted('taken by the other policy', () => runOver.stats().runOver[0]?.requests ?? 0),
    }),
  ];
}

const isOf = (name) => (decision) => passed(decision) && decision.policies[0].policy === name;

/** One request fits the policy, two more the other one, and the fourth none. */
async function proveElse(limiter) {
  const [identity] = identities(1);
  const by = [];
  for (let i = 0; i < 4; i++) {
    const { allowed, policies } = await limiter.consume('proof', identity);
    by.push(allowed ? policies[0].policy : 'none');
  }
  verify(by.join() === 'proof,few,few,none', `the policies took ${by.join()}`);
}
