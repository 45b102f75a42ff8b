import type { Monitor } from '../watch/monitor.js';
import { Deadlines } from '../stores/deadlines.js';
import { MemoryOverrideLog } from '../stores/memory/override-log.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import { LOAD, type RateLimitStore } from '../stores/store.js';
import { RateLimitConfigError } from '../util/config-error.js';
import type { Logger } from '../util/logger.js';
import type { LimiterOptions } from './limiter-options.js';
import { type CheckedLimiterOptions, LIMITER_OPTIONS } from './options-table.js';
import { denialsOf } from './rooms.js';
import type { OptionRule } from '../util/option-rules.js';
import { isWorker } from '../util/runtime.js';
import { noEffect, type OpenedStore, overrideLogOf } from './opened-store.js';

type Option = keyof LimiterOptions;

/** Options that only the store itself can apply, each with the place to set them. */
const BELONG_TO_STORE: Readonly<Partial<Record<Option, string>>> = {
  clock: "give the clock to the store itself, as in new RedisStore(client, { clock: 'app' })",
  maxSkew: "give it to the store itself, as in new RedisStore(client, { clock: 'app', maxSkew: '200ms' })",
  connect: 'connect the store yourself before the boot',
  onStoreStateChange: 'the limiter sees the state of a connection that it opens itself: give redis, not store',
};

/**
 * The store of the options, not connected yet.
 *
 * @throws {RateLimitConfigError} for a given option that this store cannot apply
 */
export async function openStore(
  options: CheckedLimiterOptions,
  monitor: Monitor,
  logger: Logger,
): Promise<OpenedStore> {
  const { store } = options;
  const { redis } = options.given();
  if (store !== undefined) return givenStore(store, options);
  if (redis === undefined || redis === '') return memoryStore(options);
  if (isWorker()) throw noRedisInWorkers(options.where);
  const { openRedisStore } = await import('./open-redis-store.js');
  return sealedBy(options, await openRedisStore(redis, options, monitor, logger));
}

async function givenStore(store: RateLimitStore, options: CheckedLimiterOptions): Promise<OpenedStore> {
  const { deadlineMs } = options;
  const given = options.given();
  for (const [option, advice] of Object.entries(BELONG_TO_STORE)) {
    if (given[option as Option] !== undefined) throw noEffect(options.where, option, 'with store', advice);
  }
  await store[LOAD]?.();
  return sealedBy(options, {
    store,
    denials: denialsOf(options),
    deadlines: new Deadlines(deadlineMs),
    owned: false,
    overrides: overrideLogOf(store, options),
    description: `Limits are kept in ${nameOf(store)}`,
  });
}

/** A store that a test has put in place of the application's. The options of the application's own store have no effect. */
export async function overridingStore(store: RateLimitStore, options: CheckedLimiterOptions): Promise<OpenedStore> {
  await store[LOAD]?.();
  const { deadlineMs } = options;
  const description = `Limits are kept in ${nameOf(store)}, which overrides the store of the options`;
  const overrides = overrideLogOf(store, options);
  return sealedBy(options, { store, deadlines: new Deadlines(deadlineMs), owned: false, overrides, description });
}

/** The store of the options, which shows no identities where `identitySecret` is one of them. */
async function sealedBy(
  { given, keyPrefix }: Pick<CheckedLimiterOptions, 'given' | 'keyPrefix'>,
  opened: OpenedStore,
): Promise<OpenedStore> {
  const { identitySecret } = given();
  if (identitySecret === undefined) return opened;
  const { sealingBy } = await import('../identity/secret/sealing.js');
  const sealing = sealingBy(identitySecret, keyPrefix);
  // A log of this process alone is in no store.
  return {
    ...opened,
    sealing,
    overrides: opened.overrides.shared ? sealing.overrides(opened.overrides) : opened.overrides,
  };
}

function memoryStore(options: CheckedLimiterOptions): OpenedStore {
  const { deadlineMs, connect, where } = options;
  const given = options.given();
  if (connect === 'required') {
    throw new RateLimitConfigError(
      where,
      `connect is 'required', and redis is ${given.redis === '' ? 'empty' : 'missing'}: is REDIS_URL set? Each process would count for itself`,
      'FG_REDIS_REQUIRED',
    );
  }
  const rules = Object.entries<OptionRule>(LIMITER_OPTIONS).filter(([option]) => given[option as Option] !== undefined);
  const idle = rules.flatMap(([option, { needsRedis }]) => (needsRedis === true ? option : []));
  const without = idle.length === 0 ? '' : `. ${idle.join(', ')} ${idle.length === 1 ? 'needs' : 'need'} Redis`;
  return {
    store: new MemoryStore(),
    overrides: new MemoryOverrideLog(),
    deadlines: new Deadlines(deadlineMs),
    owned: true,
    description: `${isWorker() ? 'Each isolate' : 'No Redis: each process'} counts for itself${without}`,
  };
}

function noRedisInWorkers(where: string): RateLimitConfigError {
  return new RateLimitConfigError(
    where,
    'redis is not for Cloudflare Workers, where a connection belongs to the request that opened it: leave redis out, and each isolate ' +
      'counts for itself, or give a store of your own',
    'FG_CONFIGURATION',
  );
}

/** A store may be a plain object, or have no prototype at all. */
function nameOf(store: RateLimitStore): string {
  const { constructor } = store as { constructor?: unknown };
  const name = typeof constructor === 'function' ? constructor.name : '';
  return name === '' || name === 'Object' ? "the application's own store" : name;
}
