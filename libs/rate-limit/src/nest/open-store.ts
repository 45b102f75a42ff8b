import { keyOf } from '../policy/key.js';
import type { Monitor } from '../metrics/monitor.js';
import type { CheckedOptions } from './options/check-options.js';
import { Deadlines } from '../stores/deadlines.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { watchClock } from '../stores/redis/clock-skew.js';
import { ConnectedRedisStore } from '../stores/redis/connection.js';
import { RedisStore } from '../stores/redis/redis.store.js';
import {
  changedOptions,
  duplicateRedis,
  isRedisClient,
  openRedis,
  type RedisClient,
} from '../stores/redis/redis-client.js';
import { DenialCache } from '../limiter/denial-cache.js';
import type { RateLimitStore } from '../stores/store.js';

interface OpenedStore {
  readonly store: RateLimitStore;
  readonly deadlines: Deadlines;
  readonly denials?: DenialCache | undefined;
  /** Whether the store keeps the deadline by itself. */
  readonly keepsTime: boolean;
  /** Whether it was opened here, and is to be closed here. */
  readonly owned: boolean;
  /** One line for the log at boot. */
  readonly description: string;
  /** Options without effect, if any are given. */
  readonly warning?: string;
}

/** The store that the module's options ask for, not connected yet. */
export async function openStore(options: CheckedOptions, monitor: Monitor): Promise<OpenedStore> {
  const { redis, store, clock, maxSkewMs, denialCacheMs, deadlineMs } = options;
  const deadlines = new Deadlines(deadlineMs);
  if (store !== undefined) {
    const description = `Limits are kept in ${store.constructor.name}`;
    return { store, deadlines, keepsTime: false, owned: false, description };
  }
  if (redis === undefined || redis === '') {
    const description =
      'Limits are kept in this process (no Redis is configured): with several processes, each client gets its limit once from every one';
    return { store: new MemoryStore(), deadlines, keepsTime: true, owned: true, description };
  }
  const { client, ignored = [] } = isRedisClient(redis) ? { client: duplicateRedis(redis) } : await openRedis(redis);
  const denials = denialCacheMs === 0 ? undefined : new DenialCache(denialCacheMs);
  const settings = { clock, maxSkewMs, deadlines, monitor, ...(denials && { denials }) };
  if (clock === 'app' && client !== undefined) watchClock(client, maxSkewMs);
  const probeKey = (number: number): string => keyOf(options.keyPrefix, `probe${number || ''}`, '');
  return {
    store: client
      ? new ConnectedRedisStore(client, settings, probeKey, (change) => {
          monitor.storeChanged(change);
          return options.onStoreStateChange?.(change); // which may be a promise that rejects
        })
      : new RedisStore(redis as RedisClient, settings),
    deadlines,
    denials,
    keepsTime: true,
    owned: client !== undefined,
    ...(ignored.length > 0 && {
      warning: `RateLimitModule, redis: these options are ignored, since promises rest on them; what holds is ${ignored.join(', ')}`,
    }),
    description: `Limits are kept in Redis, for all processes together${whileAway(options)}${byDuplicate(redis)}`,
  };
}

/** What was handed in is not used as it is: who looks for its connection, or its retries, should find why. */
function byDuplicate(redis: CheckedOptions['redis']): string {
  const changed = isRedisClient(redis) ? changedOptions(redis) : [];
  if (changed.length === 0) return '';
  return `; on a duplicate of the client that was handed in, which differs in ${changed.join(', ')}`;
}

/** What the default means for as long as an outage lasts has to be known before one. */
function whileAway({ onStoreFailure, localShare }: CheckedOptions): string {
  if (onStoreFailure !== 'local' || localShare !== 1) return '';
  return '; while it is away each process admits the whole of every limit (say localShare, the number of processes)';
}
