import {
  type Charge,
  type ChargeReceipt,
  type ChargeSettlement,
  LOAD,
  type RateLimitStore,
  type SettledCharge,
  type Verdict,
} from '../store.js';
import type { StoreTraits } from '../traits.js';
import type { RedisClient } from './clients/redis-client.js';
import { checkUsable } from './clients/given-redis.js';
import type { LoadedRedisStore } from './loaded-redis-store.js';
import { readStoreOptions, type RedisStoreOptions, type RedisStoreSettings, supportsOf } from './store-options.js';

export type { RedisStoreOptions };

/** The traits of a store whose engine did not load it. */
const UNLOADED: Partial<StoreTraits> = { answersAtOnce: false, server: 'Redis' };

/**
 * Decides in Redis, atomically for all pods, with one Lua program. The requests of one turn of the event loop travel together.
 *
 * The store uses the client as it is, and leaves it open. While 25,000 requests wait for the client's answers, others fail at once.
 *
 * @example store: new RedisStore(client, { clock: 'app' })
 */
export class RedisStore implements RateLimitStore {
  readonly supports: RateLimitStore['supports'];
  /** What decides. Undefined until it is loaded: by the module at boot, or by the first call. */
  private loaded: LoadedRedisStore | undefined;
  private loading: Promise<LoadedRedisStore> | undefined;
  private readonly settings: RedisStoreSettings;

  /**
   * @throws {RateLimitConfigError} when `client` is no client that it can use, and for a wrong or unknown option
   */
  constructor(
    private readonly client: RedisClient,
    options: RedisStoreOptions = {},
  ) {
    const settings = readStoreOptions(options);
    checkUsable(client);
    this.settings = settings;
    this.supports = supportsOf(settings);
  }

  /** @internal Complete once it is loaded. */
  get traits(): Partial<StoreTraits> {
    return this.loaded?.traits ?? UNLOADED;
  }

  /** @internal */
  [LOAD](): Promise<LoadedRedisStore> {
    if (this.loading !== undefined) return this.loading;
    this.loading = this.load();
    // This comes before what waits for the promise, so that no later call overtakes the first ones.
    this.loading.then(
      (loaded) => (this.loaded = loaded),
      () => undefined,
    );
    return this.loading;
  }

  /**
   * Decides one request. Throws at once, without sending anything, while Redis or a node that the request needs is
   * unavailable.
   */
  consume(charges: readonly Charge[]): Promise<Verdict> {
    return this.loaded === undefined
      ? this[LOAD]().then((loaded) => loaded.consume(charges))
      : this.loaded.consume(charges);
  }

  reset(keys: readonly string[]): Promise<number> {
    return this.loaded === undefined ? this[LOAD]().then((loaded) => loaded.reset(keys)) : this.loaded.reset(keys);
  }

  /** Refunds charges. Only what Redis has certainly not run is sent again, so a lost refund stays charged. */
  refund(taken: readonly ChargeReceipt[]): Promise<void> {
    return this.loaded === undefined ? this[LOAD]().then((loaded) => loaded.refund(taken)) : this.loaded.refund(taken);
  }

  /** Settles all or none; on a Cluster in each slot. Only what Redis has certainly not run is sent again. */
  settle(settlements: readonly ChargeSettlement[]): Promise<readonly (SettledCharge | undefined)[]> {
    return this.loaded === undefined
      ? this[LOAD]().then((loaded) => loaded.settle(settlements))
      : this.loaded.settle(settlements);
  }

  /** Loads what decides. The client connects by itself. */
  async connect(): Promise<void> {
    await this[LOAD]();
  }

  /** Sends what waits for others. The client is left open. */
  async close(): Promise<void> {
    await (await this.loading)?.close();
  }

  private async load(): Promise<LoadedRedisStore> {
    const { LoadedRedisStore } = await import('./loaded-redis-store.js');
    return new LoadedRedisStore(this.client, this.settings);
  }
}
