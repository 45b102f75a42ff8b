import type { CheckedOptions } from '../rate-limit.options.js';
import { MemoryStore } from './memory/memory.store.js';
import { ConnectedRedisStore } from './redis/connected-redis.store.js';
import { RedisStore } from './redis/redis.store.js';
import { isRedisClient, openRedis } from './redis/redis-client.js';
import { RememberedRefusals } from './remembered-refusals.js';
import type { RateLimitStore } from './store.js';

interface OpenedStore {
  readonly store: RateLimitStore;
  /** Whether it was opened here, and is to be closed here. */
  readonly owned: boolean;
  /** One line for the log at boot. */
  readonly description: string;
}

/** The store that the module's options ask for, not connected yet. */
export async function openStore({ redis, store, clock, rememberRefusalsMs }: CheckedOptions): Promise<OpenedStore> {
  if (store !== undefined) return { store, owned: false, description: `Limits are kept in ${store.constructor.name}` };
  if (redis === undefined || redis === '') {
    const description =
      'Limits are kept in this process (no Redis is configured): with several processes, each client gets its limit once from every one';
    return { store: new MemoryStore(), owned: true, description };
  }
  const owned = !isRedisClient(redis);
  const onRedis = owned ? new ConnectedRedisStore(await openRedis(redis), { clock }) : new RedisStore(redis, { clock });
  return {
    store: rememberRefusalsMs === 0 ? onRedis : new RememberedRefusals(onRedis, rememberRefusalsMs),
    owned,
    description: 'Limits are kept in Redis, for all processes together',
  };
}
