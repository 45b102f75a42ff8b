import type { Monitor } from '../watch/monitor.js';
import { keyOf } from '../policy/key.js';
import { Deadlines } from '../stores/deadlines.js';
import { changedOptions, duplicateRedis, type OpenedRedis, openRedis } from '../stores/redis/clients/open-redis.js';
import { isRedisClient, type RedisClient } from '../stores/redis/clients/redis-client.js';
import { LoadedRedisStore } from '../stores/redis/loaded-redis-store.js';
import { readStoreOptions } from '../stores/redis/store-options.js';
import type { StoreStateChange } from '../stores/store-state.js';
import { withHelp } from '../util/error-codes.js';
import type { Logger } from '../util/logger.js';
import type { LimiterOptions } from './limiter-options.js';
import type { CheckedLimiterOptions } from './options-table.js';
import { denialsOf } from './rooms.js';
import { noEffect, type OpenedStore, overrideLogOf } from './opened-store.js';

/** The store on the Redis of the options, not connected yet. */
export async function openRedisStore(
  redis: NonNullable<LimiterOptions['redis']>,
  options: CheckedLimiterOptions,
  monitor: Monitor,
  logger: Logger,
): Promise<OpenedStore> {
  const { clock, maxSkewMs, onStoreStateChange, keyPrefix } = options;
  const deadlines = new Deadlines(options.deadlineMs);
  const denials = denialsOf(options);
  const probeKey = (number: number): string => keyOf(keyPrefix, `probe${number || ''}`, '');
  const settings = readStoreOptions({ clock, maxSkew: maxSkewMs });
  const where = `${options.where}, redis`;
  const parts = {
    where,
    deadlines,
    observer: monitor,
    denials,
    ...(options.connect === 'required' && { required: probeKey }),
  };
  const opened = { deadlines, denials };
  const description = `Limits are kept in Redis, for all processes together${wholeLimits(options)}`;
  const { client, library, ignored = [] } = await clientFor(redis, where);
  if (client === undefined) {
    if (onStoreStateChange !== undefined) {
      throw noEffect(
        options.where,
        'onStoreStateChange',
        'with a client that has no duplicate()',
        'the limiter watches a connection of its own: give a URL, ioredis options, or a client that has duplicate()',
      );
    }
    const warning = withHelp(
      `clock: 'app' is not compared with Redis's clock: the client has no duplicate(). Watch the clocks yourself`,
      'FG_CLOCKS_DIFFER',
    );
    const store = new LoadedRedisStore(redis as RedisClient, settings, parts);
    const overrides = overrideLogOf(store, options);
    const used = `${description}; on the client that was given, which has no duplicate()`;
    return { ...opened, store, owned: false, overrides, description: used, ...(clock === 'app' && { warning }) };
  }
  const store = new LoadedRedisStore(client, settings, {
    ...parts,
    owned: {
      probeKey,
      logger,
      onStateChange: (change: StoreStateChange) => {
        monitor.storeChanged(change);
        return onStoreStateChange?.(change); // may be a promise that rejects
      },
    },
  });
  return {
    ...opened,
    store,
    owned: true,
    overrides: overrideLogOf(store, options),
    description: `${description}${typeof redis === 'string' ? `; ${library === 'redis' ? 'node-redis' : library} opens the URL` : duplicated(redis)}`,
    ...(ignored.length > 0 && {
      warning: withHelp(
        `${where}: these options are ignored, because promises rest on them. These values hold: ${ignored.join(', ')}`,
        'FG_REDIS_OPTION_IGNORED',
      ),
    }),
  };
}

/** A client that the limiter opens, and the given options that it overrules; no client for one that cannot be duplicated. */
async function clientFor(redis: NonNullable<LimiterOptions['redis']>, where: string): Promise<Partial<OpenedRedis>> {
  return isRedisClient(redis) ? { client: await duplicateRedis(redis, where) } : openRedis(redis, where);
}

/** Names the duplicate and its differences: operators may look for the connection or its retries. */
function duplicated(redis: LimiterOptions['redis']): string {
  const changed = isRedisClient(redis) ? changedOptions(redis) : [];
  return changed.length === 0
    ? ''
    : `; on a duplicate of the client that was given, which differs in ${changed.join(', ')}`;
}

/** A warning at boot of what the default `localShare` means in an outage. */
function wholeLimits({ onStoreFailure, localShare }: CheckedLimiterOptions): string {
  if (onStoreFailure !== 'local' || localShare !== 1) return '';
  return "; while Redis is unavailable each process admits the whole limit of every policy that is 'local' (set localShare to the number of processes)";
}
