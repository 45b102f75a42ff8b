import { Cluster } from '../../../libs/floodgate/src/stores/redis/cluster/cluster.js';
import type { LoadedRedisStore } from '../../../libs/floodgate/src/stores/redis/loaded-redis-store.js';
import { RedisStore } from '../../../libs/floodgate/src/stores/redis/redis.store.js';
import { LOAD } from '../../../libs/floodgate/src/stores/store.js';
import { algorithmOf } from '../algorithm-of.js';
import type { ClusterNode } from './redis-cluster.js';
import { until } from './until.js';

const PROBED_MS = 10_000;
const ANY = algorithmOf({ algorithm: 'fixed-window', limit: 1, window: '1h' });

/** Waits until a store on a Cluster has found out that it can ask each of these masters for all its slots. */
export async function untilByNode(
  store: LoadedRedisStore | RedisStore,
  masters: readonly Pick<ClusterNode, 'host' | 'port'>[],
): Promise<void> {
  const { topology } = store instanceof RedisStore ? await store[LOAD]() : store;
  if (!(topology instanceof Cluster)) throw new Error('the store has no Cluster');
  let i = 0;
  await until('every node is asked for all its slots', PROBED_MS, async () => {
    await store.consume([{ key: `{any-${i++}}`, algorithm: ANY, cost: 1, mode: 'peek' }]).catch(() => undefined);
    return masters.every(({ host, port }) => topology.lanes.isUsable(`${host}:${port}`));
  });
}
