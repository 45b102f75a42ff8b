import { RateLimitOverrides } from 'nestjs-floodgate';
import { identities, openApplication, passed } from '../../floodgate.js';
import { counted, verify } from '../../measure.js';
import { BUCKET, featureScenario, KEYS, ownOptions } from './support.js';

const OVERRIDES = 10_000;
const RAISED = 2_000_000;
const NONE = 'no overrides';
const OTHERS = '10,000 overrides of other users';
const OWN = 'an override of each user';
const ALL = 'an override for everyone';
/** Sets that are under way at once. */
const CHUNK = 500;

/** What clients without an override pay for those of others, and what those with one pay, or with one for everyone. */
export const overrides = featureScenario({
  title: 'Overrides',
  url: import.meta.url,
  base: NONE,
  prices: { overrideOfOwn: OWN, overridesOfOthers: OTHERS, overrideForEveryone: ALL },
});

export async function contestants(bench, place) {
  const users = identities(KEYS);
  const others = identities(OVERRIDES, KEYS);
  const [none, ofOthers, ofOwn, ofAll] = [
    await openOverridden(bench, place, []),
    await openOverridden(bench, place, others),
    await openOverridden(bench, place, users),
    await openOverridden(bench, place, ['everyone']),
  ];
  return [
    { name: NONE, ...asking(none, users), ...inForce(none, 0) },
    { name: OTHERS, ...asking(ofOthers, users), ...inForce(ofOthers, OVERRIDES) },
    { name: OWN, ...raised(ofOwn, users) },
    { name: ALL, ...raised(ofAll, users) },
  ];
}

async function openOverridden(bench, place, overridden) {
  const { limiter, app } = await openApplication(bench, ownOptions(bench, place, { bucket: BUCKET }));
  const control = app.get(RateLimitOverrides);
  for (let i = 0; i < overridden.length; i += CHUNK) {
    const sets = overridden.slice(i, i + CHUNK).map((identity) => {
      return control.set({ policy: 'bucket', identity }, { capacity: RAISED });
    });
    await Promise.all(sets);
  }
  return limiter;
}

function asking(limiter, users) {
  return { ask: (i) => limiter.consume('bucket', users[i % users.length]), right: passed };
}

function raised(limiter, users) {
  return {
    ...asking(limiter, users),
    right: (decision) => passed(decision) && decision.policies[0].limit === RAISED,
    ...counted('decided by an override', () => limiter.stats().overridden.changed),
  };
}

function inForce(limiter, count) {
  return {
    after: () => {
      const { overrides: known, overridden } = limiter.stats();
      verify(known.count === count, `${known.count} overrides are in force, not ${count}`);
      verify(overridden.changed === 0, 'a user without an override had one');
    },
  };
}
