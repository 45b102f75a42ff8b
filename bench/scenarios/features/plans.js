import { passed } from '../../floodgate.js';
import { askingUsers, BUCKET, featureScenario, openOwn } from './support.js';

const PRO = 2_000_000;
const PLAIN = 'a policy without plans';
const NO_PLAN = 'plans, and users without one';
const WITH_PLAN = 'plans, and users of plan pro';

/** What a plan costs that the call says. */
export const plans = featureScenario({
  title: 'Plans',
  url: import.meta.url,
  base: PLAIN,
  prices: { plans: WITH_PLAN },
});

export async function contestants(bench, place) {
  const planned = async (name, plan, limit) => {
    const policies = { bucket: { ...BUCKET, plans: { pro: { capacity: PRO } } } };
    const limiter = await openOwn(bench, place, policies);
    return askingUsers(name, (user) => limiter.consume('bucket', user, { plan }), {
      right: (decision) => passed(decision) && decision.policies[0].limit === limit,
    });
  };
  const plain = await openOwn(bench, place, { bucket: BUCKET });
  return [
    // One option, as a call that says the plan has it.
    askingUsers(PLAIN, (user) => plain.consume('bucket', user, { plan: undefined })),
    await planned(NO_PLAN, null, BUCKET.capacity),
    await planned(WITH_PLAN, 'pro', PRO),
  ];
}
