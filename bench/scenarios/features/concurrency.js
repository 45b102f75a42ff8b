import { identities, late } from '../../floodgate.js';
import { verify } from '../../measure.js';
import { askingUsers, featureScenario, openOwn } from './support.js';

const POLICIES = {
  // Short, so that a log has few entries: each of them costs, and a lease is released at once.
  log: { algorithm: 'sliding-window-log', limit: 1_000, window: '300ms' },
  // Few enough that users would soon be rejected if their leases were not released.
  leases: { algorithm: 'concurrency', limit: 3, lease: '1m' },
};
const LOG = 'a log';
const LEASES = 'a concurrency';

/** What a lease costs: it is taken and released, where a log's entry is written once. */
export const concurrency = featureScenario({
  title: 'Acquire and release',
  url: import.meta.url,
  base: LOG,
  prices: { concurrency: LEASES },
  http: {
    variants: [
      { name: LOG, variant: 'log' },
      { name: LEASES, variant: 'concurrency' },
    ],
    base: LOG,
    prices: { concurrency: LEASES },
  },
});

export async function contestants(bench, place) {
  const [logs, leases] = [await openOwn(bench, place, POLICIES), await openOwn(bench, place, POLICIES)];
  await proveLimit(leases);
  const acquire = async (user) => {
    const lease = await leases.acquire('leases', user);
    lease.release();
    return lease;
  };
  return [
    askingUsers(LOG, (user) => logs.consume('log', user)),
    askingUsers(LEASES, acquire, { right: ({ allowed, decision }) => allowed && decision.decidedBy === 'store', late }),
  ];
}

/** A fourth request is rejected while three leases are held. Whether releases free them, the loads show. */
async function proveLimit(limiter) {
  const [identity] = identities(1);
  const leases = await Promise.all([1, 2, 3, 4].map(() => limiter.acquire('leases', identity)));
  const held = leases.filter(({ allowed }) => allowed);
  verify(held.length === 3, `${held.length} of 4 leases were granted where 3 are`);
  for (const lease of held) lease.release();
}
