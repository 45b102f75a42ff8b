import { DenialCache } from '../../libs/floodgate/src/layers/denials/denial-cache.js';
import type { LimiterOptions } from '../../libs/floodgate/src/limiter/limiter-options.js';
import type { LimiterParts } from '../../libs/floodgate/src/limiter/limiter-parts.js';
import { overrideLogOf } from '../../libs/floodgate/src/limiter/opened-store.js';
import { readLimiterOptions } from '../../libs/floodgate/src/limiter/options-table.js';
import { partsAlone } from '../../libs/floodgate/src/limiter/parts-alone.js';
import { keyOf } from '../../libs/floodgate/src/policy/key.js';
import { Deadlines } from '../../libs/floodgate/src/stores/deadlines.js';
import type { OwnedClient } from '../../libs/floodgate/src/stores/redis/clients/client.js';
import { LoadedRedisStore } from '../../libs/floodgate/src/stores/redis/loaded-redis-store.js';
import { readStoreOptions } from '../../libs/floodgate/src/stores/redis/store-options.js';
import type { Clock } from '../../libs/floodgate/src/stores/store.js';
import { Monitor } from '../../libs/floodgate/src/watch/monitor.js';

/** The limiter of an application keeps up to 50,000, and makes room for them at once: half of the time of a short run. */
const MAX_DENIALS = 100;
const SILENT = { log: () => undefined, warn: () => undefined, error: () => undefined };

/**
 * A limiter on a client, as `createLimiter` makes it: that one opens the client itself.
 *
 * @param clock of decisions without Redis
 */
export function limiterOn(client: OwnedClient, options: LimiterOptions, clock: Clock): LimiterParts {
  const checked = readLimiterOptions(options, 'simulate');
  const monitor = new Monitor(checked, SILENT);
  const parts = {
    deadlines: new Deadlines(checked.deadlineMs),
    denials: new DenialCache(checked.denialCacheMs, undefined, MAX_DENIALS),
  };
  const owned = { probeKey: (number: number) => keyOf(checked.keyPrefix, `probe${number || ''}`, ''), logger: SILENT };
  const store = new LoadedRedisStore(client, readStoreOptions({}), { ...parts, observer: monitor, owned });
  const overrides = overrideLogOf(store, checked);
  const opened = { ...parts, store, overrides, owned: true, description: '', fallbackClock: clock };
  return partsAlone(checked, opened, SILENT, monitor);
}
