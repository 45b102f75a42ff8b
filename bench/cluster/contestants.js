import { once } from 'node:events';
import { Cluster } from 'ioredis';
import { rateLimiterFlexible } from '../contestants.js';
import { distinctKeys, identities, openLimiter, passed } from '../floodgate.js';
import { verify } from '../measure.js';

/**
 * What decides: one plain Redis, or the masters of a Cluster.
 *
 * @typedef {object} Deployment
 * @property {string} name in the tables
 * @property {number} masters of a Cluster; 0 is the plain Redis
 * @property {import('ioredis').Redis[]} servers
 * @property {{ host: string, port: number }[]} [addresses] of a Cluster
 */

/** @returns {Deployment[]} the plain Redis first, then the Clusters by size */
export function deploymentsOf({ admin, clusters }) {
  const plain = { name: 'one Redis', masters: 0, servers: [admin] };
  const clustered = clusters.map(({ admins, addresses }) => ({
    name: `Cluster of ${admins.length}`,
    masters: admins.length,
    servers: admins,
    addresses,
  }));
  return [plain, ...clustered];
}

/** A client as an application has it. The library uses a duplicate of it. */
async function connectCluster(bench, addresses) {
  const cluster = new Cluster(addresses, { enableOfflineQueue: false });
  bench.onClose(() => cluster.disconnect());
  await once(cluster, 'ready');
  return cluster;
}

export async function openLimiterOn(bench, { addresses }, policies) {
  const redis = addresses ? await connectCluster(bench, addresses) : bench.url;
  // A deadline that a machine with a dozen processes keeps: CPU is measured, not time.
  return openLimiter(bench, { redis, policies, deadline: '1s' });
}

/** What each user owes before the first load: at a refill of 10/s for longer than any scenario lasts. */
const OWED = 10_000;
/** Users that begin to owe at a time. */
const TOGETHER = 500;

/**
 * `keys` users, each asked for in turn, all of whom pass.
 *
 * All owe from the beginning. Otherwise a deployment that decides less than the refill a second would have its keys expire, and
 * pay for that, where a faster one keeps them: they would not be measured at the same work.
 */
export async function floodgateOn(bench, deployment, { name, policy, keys }) {
  const limiter = await openLimiterOn(bench, deployment, { distinct: policy });
  const users = identities(keys);
  for (let i = 0; i < keys; i += TOGETHER) {
    const some = users.slice(i, i + TOGETHER);
    const decisions = await Promise.all(some.map((one) => limiter.consume('distinct', one, { cost: OWED })));
    verify(decisions.every(passed), `${name}: not every user passes before the first load`);
  }
  return { ...distinctKeys(limiter, 'distinct', keys, name), servers: deployment.servers };
}

/** Opens rate-limiter-flexible on a deployment. */
export async function peerOn(bench, { addresses, servers }, peer) {
  const storeClient = addresses && (await connectCluster(bench, addresses));
  return { ...(await rateLimiterFlexible(bench, { ...peer, storeClient })), servers };
}
