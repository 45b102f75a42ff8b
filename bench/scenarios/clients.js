import { createClient } from 'redis';
import { distinctKeys, openLimiter } from '../floodgate.js';
import { measure, ratio } from '../measure.js';
import { decisionsTable } from '../table.js';

const KEYS = 10_000;
const POLICIES = { distinct: { algorithm: 'token-bucket', capacity: 1_000_000, refill: 10 } };
const IOREDIS = 'Floodgate on ioredis';
const NODE_REDIS = 'Floodgate on node-redis';

/** The client libraries side by side: what differs is what each does for a call. */
function clients(inFlight) {
  const name = `clients.nodeCpu${inFlight}`;
  return {
    ratios: [name],
    async run(bench) {
      const onIoredis = await openLimiter(bench, { redis: bench.url, policies: POLICIES });
      const onNodeRedis = await openLimiter(bench, { redis: createClient({ url: bench.url }), policies: POLICIES });
      const contestants = [
        distinctKeys(onIoredis, 'distinct', KEYS, IOREDIS),
        distinctKeys(onNodeRedis, 'distinct', KEYS, NODE_REDIS),
      ];
      const samples = await measure(contestants, { inFlight, timed: inFlight === 1, bench });
      const title = `Clients: 10,000 users, token bucket, ${inFlight} in flight`;
      return {
        ratios: { [name]: ratio(samples.get(NODE_REDIS), samples.get(IOREDIS), 'node') },
        tables: [decisionsTable(title, samples, IOREDIS)],
      };
    },
  };
}

export const clients512 = clients(512);
export const clients1 = clients(1);
