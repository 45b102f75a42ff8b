import { passed, user } from '../../floodgate.js';
import { counted, verify } from '../../measure.js';
import { askingUsers, BUCKET, featureScenario, openOwn } from './support.js';

const POLICIES = {
  plain: { bucket: BUCKET },
  tried: {
    bucket: BUCKET,
    tried: { ...BUCKET, capacity: 500_000, mode: 'shadow' },
    proof: { algorithm: 'token-bucket', capacity: 10, refill: '1/h' },
    five: { algorithm: 'token-bucket', capacity: 5, refill: '1/h', mode: 'shadow' },
  },
};
const PLAIN = 'a policy';
const SHADOW = 'the policy and a shadow';

/** What a shadow costs: a second charge in the same call. */
export const shadow = featureScenario({
  title: 'Shadow',
  url: import.meta.url,
  base: PLAIN,
  prices: { shadow: SHADOW },
});

export async function contestants(bench, place) {
  const plain = await openOwn(bench, place, POLICIES.plain);
  const tried = await openOwn(bench, place, POLICIES.tried);
  await proveCharges(tried);
  return [
    askingUsers(PLAIN, (one) => plain.consume('bucket', one)),
    askingUsers(SHADOW, (one) => tried.consume(['bucket', 'tried'], one), {
      right: (decision) => passed(decision) && decision.shadow?.[0].allowed === true,
      ...counted('decided in shadow', () => decidedInShadow(tried, 'tried')),
    }),
  ];
}

function decidedInShadow(limiter, name) {
  return limiter.stats().shadows.find(({ policy }) => policy === name)?.allowed ?? 0;
}

/** Of 8 requests the policy lets all pass. The shadow would have let 5 pass, so these were charged. */
async function proveCharges(limiter) {
  let fitting = 0;
  for (let i = 0; i < 8; i++) {
    const decision = await limiter.consume(['proof', 'five'], { kind: 'user', value: user(0) });
    verify(passed(decision), 'a shadow rejected a request');
    if (decision.shadow[0].allowed) fitting++;
  }
  verify(fitting === 5, `${fitting} of 8 requests fit a shadow of 5`);
}
