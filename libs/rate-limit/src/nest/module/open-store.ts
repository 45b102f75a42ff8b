import { DenialCache } from '../../engine/layers/denial-cache.js';
import type { Monitor } from '../../metrics/monitor.js';
import { keyOf } from '../../policy/key.js';
import { Deadlines } from '../../stores/deadlines.js';
import { MemoryOverrideLog } from '../../stores/memory/override-log.js';
import { MemoryStore } from '../../stores/memory/memory.store.js';
import { changedOptions, duplicateRedis, type OpenedRedis, openRedis } from '../../stores/redis/clients/open-redis.js';
import type { OverrideLog } from '../../stores/override-log.js';
import type { ReportBoard } from '../../stores/report-board.js';
import type { ReservationLog } from '../../stores/reservation-log.js';
import { isRedisClient, type RedisClient } from '../../stores/redis/clients/redis-client.js';
import { RedisStore } from '../../stores/redis/redis.store.js';
import type { Clock, RateLimitStore, StoreStateChange } from '../../stores/store.js';
import { traitsOf } from '../../stores/traits.js';
import { RateLimitConfigError } from '../../util/config-error.js';
import { withHelp } from '../../util/error-codes.js';
import type { Logger } from '../../util/logger.js';
import type { CheckedOptions } from '../options/check-options.js';
import type { RateLimitModuleOptions } from '../options/module-options.js';
import { RateLimitLogger } from './logger.js';

interface OpenedStore {
  readonly store: RateLimitStore;
  readonly deadlines: Deadlines;
  readonly denials?: DenialCache | undefined;
  /** The log of overrides: in the store's Redis, or in this process. */
  readonly overrides: OverrideLog;
  /** Whether the module opened the store, and closes it. */
  readonly owned: boolean;
  /** One line for the log at boot. */
  readonly description: string;
  /** Given options without effect. */
  readonly warning?: string;
}

/**
 * The token of a store that replaces the one in the module's options. It is null unless a test overrides it: then no connection
 * is opened.
 */
export const RATE_LIMIT_STORE = Symbol.for('nestjs-floodgate: the store that decides');

type Option = keyof RateLimitModuleOptions;

/** Options that need a store outside of this process. */
const NEED_REDIS: readonly Option[] = [
  'clock',
  'maxSkew',
  'denialCache',
  'linger',
  'onStoreFailure',
  'localShare',
  'fallbackMaxBytes',
  'onStoreStateChange',
  'connect',
];

/** Options that only the store itself can apply, each with the place to set them. */
const BELONG_TO_STORE: Readonly<Partial<Record<Option, string>>> = {
  clock: "give the clock to the store itself, as in new RedisStore(client, { clock: 'app' })",
  maxSkew: "give it to the store itself, as in new RedisStore(client, { clock: 'app', maxSkew: '200ms' })",
  linger: "give it to the store itself, as in new RedisStore(client, { linger: '2ms' })",
  connect: 'connect the store yourself before the boot',
  onStoreStateChange: 'the module sees the state of a connection that it opens itself: give redis, not store',
};

/**
 * The store of the module's options, not connected yet.
 *
 * @throws {RateLimitConfigError} for a given option that this store cannot apply
 */
export async function openStore(
  options: CheckedOptions,
  monitor: Monitor,
  logger: Logger = new RateLimitLogger(),
): Promise<OpenedStore> {
  const { redis, store } = options;
  if (store !== undefined) return givenStore(store, options);
  if (redis === undefined || redis === '') return memoryStore(options);
  return redisStore(redis, options, monitor, logger);
}

function givenStore(store: RateLimitStore, options: CheckedOptions): OpenedStore {
  const { given, denialCacheMs, deadlineMs } = options;
  for (const [option, advice] of Object.entries(BELONG_TO_STORE)) {
    if (given[option as Option] !== undefined) throw noEffect(option, 'with store', advice);
  }
  const supports: readonly string[] = store.supports ?? [];
  if (supports.includes('lease')) {
    throw new RateLimitConfigError(
      'RateLimitModule',
      `the supports of store have 'lease', whose name is 'prefetch' now`,
      'FG_INVALID_OPTION',
    );
  }
  const opened = {
    deadlines: new Deadlines(deadlineMs),
    owned: false,
    overrides: overrideLogOf(store, options),
    description: `Limits are kept in ${nameOf(store)}`,
  };
  // A virtual clock may drive the store, so denials are kept only on request.
  if (given.denialCache === undefined || denialCacheMs === 0) return { ...opened, store };
  if (traitsOf(store).isLocal) {
    throw noEffect('denialCache', 'with a MemoryStore', 'leave it out, a MemoryStore answers as fast as the cache');
  }
  return { ...opened, store, denials: new DenialCache(denialCacheMs) };
}

/** A store that a test has put in place of the application's. The options of the application's own store have no effect. */
export function overridingStore(store: RateLimitStore, options: CheckedOptions): OpenedStore {
  const { deadlineMs } = options;
  const description = `Limits are kept in ${nameOf(store)}, which overrides the store of the module's options`;
  const overrides = overrideLogOf(store, options);
  return { store, deadlines: new Deadlines(deadlineMs), owned: false, overrides, description };
}

function memoryStore({ given, deadlineMs, connect }: CheckedOptions): OpenedStore {
  if (connect === 'required') {
    throw new RateLimitConfigError(
      'RateLimitModule',
      `connect is 'required', and redis is ${given.redis === '' ? 'empty' : 'missing'}: is REDIS_URL set? Each process would count for itself`,
      'FG_REDIS_REQUIRED',
    );
  }
  const idle = NEED_REDIS.filter((option) => given[option] !== undefined);
  const without = idle.length === 0 ? '' : `; without effect until then: ${idle.join(', ')}`;
  return {
    store: new MemoryStore(),
    overrides: new MemoryOverrideLog(),
    deadlines: new Deadlines(deadlineMs),
    owned: true,
    description: `Limits are kept in this process, so each process gives each client the whole limit. Set redis to share limits${without}`,
  };
}

async function redisStore(
  redis: NonNullable<CheckedOptions['redis']>,
  options: CheckedOptions,
  monitor: Monitor,
  logger: Logger,
): Promise<OpenedStore> {
  const { clock, maxSkewMs, lingerMs, denialCacheMs, onStoreStateChange, keyPrefix } = options;
  const deadlines = new Deadlines(options.deadlineMs);
  const denials = denialCacheMs === 0 ? undefined : new DenialCache(denialCacheMs);
  const probeKey = (number: number): string => keyOf(keyPrefix, `probe${number || ''}`, '');
  const settings = {
    clock,
    maxSkew: maxSkewMs,
    linger: lingerMs,
    deadlines,
    observer: monitor,
    ...(denials && { denials }),
    ...(options.connect === 'required' && { required: probeKey }),
  };
  const opened = { deadlines, denials };
  const description = `Limits are kept in Redis, for all processes together${wholeLimits(options)}`;
  const { client, library, ignored = [] } = await clientFor(redis);
  if (client === undefined) {
    if (onStoreStateChange !== undefined) {
      throw noEffect(
        'onStoreStateChange',
        'with a client that has no duplicate()',
        'the module watches a connection of its own: give a URL, ioredis options, or a client that has duplicate()',
      );
    }
    const warning = withHelp(
      `clock: 'app' is not compared with Redis's clock: the client has no duplicate(). Watch the clocks yourself`,
      'FG_CLOCKS_DIFFER',
    );
    const store = new RedisStore(redis as RedisClient, settings);
    const overrides = overrideLogOf(store, options);
    const used = `${description}; on the client that was given, which has no duplicate()`;
    return { ...opened, store, owned: false, overrides, description: used, ...(clock === 'app' && { warning }) };
  }
  const store = new RedisStore(client, {
    ...settings,
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
    description: `${description}${typeof redis === 'string' ? `; ${library} opens the URL` : duplicated(redis)}`,
    ...(ignored.length > 0 && {
      warning: withHelp(
        `RateLimitModule, redis: these options are ignored, because promises rest on them. These values hold: ${ignored.join(', ')}`,
        'FG_REDIS_OPTION_IGNORED',
      ),
    }),
  };
}

/**
 * The log of overrides. It is kept beside the limits if the store has a place for it, otherwise in this process. There it uses
 * the store's clock, if that is a test's.
 */
function overrideLogOf(store: RateLimitStore, { keyPrefix }: CheckedOptions): OverrideLog {
  const { overrideLog } = traitsOf(store);
  if (overrideLog !== undefined) return overrideLog((part) => keyOf(keyPrefix, 'overrides', `:${part}`));
  const { clock } = store as { readonly clock?: unknown };
  return new MemoryOverrideLog(typeof clock === 'function' ? (clock as Clock) : undefined);
}

/** The reports of all processes beside the limits; undefined if the store has no place for them. */
export function reportBoardOf(store: RateLimitStore, keyPrefix: string): ReportBoard | undefined {
  return traitsOf(store).reportBoard?.((part) => keyOf(keyPrefix, 'rejected', `:${part}`));
}

/** The log of reservations that expire; undefined if the store has no place for it. */
export function reservationLogOf(store: RateLimitStore, { keyPrefix }: CheckedOptions): ReservationLog | undefined {
  return traitsOf(store).reservationLog?.((part) => keyOf(keyPrefix, `reservations-${part}`, ''));
}

/** A client that the module opens, and the given options that it overrules; no client for one that cannot be duplicated. */
async function clientFor(redis: NonNullable<CheckedOptions['redis']>): Promise<Partial<OpenedRedis>> {
  return isRedisClient(redis) ? { client: await duplicateRedis(redis) } : openRedis(redis);
}

function noEffect(option: string, where: string, advice: string): RateLimitConfigError {
  return new RateLimitConfigError(
    'RateLimitModule',
    `${option} has no effect ${where}: ${advice}`,
    'FG_OPTION_WITHOUT_EFFECT',
  );
}

/** A store may be a plain object, or have no prototype at all. */
function nameOf(store: RateLimitStore): string {
  const { constructor } = store as { constructor?: unknown };
  const name = typeof constructor === 'function' ? constructor.name : '';
  return name === '' || name === 'Object' ? "the application's own store" : name;
}

/** Names the duplicate and its differences: operators may look for the connection or its retries. */
function duplicated(redis: CheckedOptions['redis']): string {
  const changed = isRedisClient(redis) ? changedOptions(redis) : [];
  return changed.length === 0
    ? ''
    : `; on a duplicate of the client that was given, which differs in ${changed.join(', ')}`;
}

/** A warning at boot of what the default `localShare` means in an outage. */
function wholeLimits({ onStoreFailure, localShare }: CheckedOptions): string {
  if (onStoreFailure !== 'local' || localShare !== 1) return '';
  return '; while Redis is unavailable each process admits every whole limit (set localShare to the number of processes)';
}
