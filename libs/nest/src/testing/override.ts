import { RATE_LIMIT_STORE } from '../options/store-token.js';
import { RateLimitConfigError, type RateLimitStore } from 'floodgate';
import { shown } from 'floodgate/internal';
import { VirtualClock, VirtualStore } from 'floodgate/testing';
import { UnlimitedStore } from './unlimited-store.js';

/** What `Test.createTestingModule` of `@nestjs/testing` returns, as far as the kit uses it. */
export interface TestingModuleBuilderLike {
  overrideProvider(token: unknown): { useValue(value: unknown): unknown };
}

/**
 * Puts a store in place of the one that the application's `RateLimitModule` asks for. The module then opens no connection, whatever
 * its `redis` says; a client that the application makes itself (`new Redis(...)`) still connects.
 *
 * `clock`, `maxSkew`, `denialCache` and `onStoreStateChange` of the module's options have no effect. All others hold.
 *
 * @param builder what `Test.createTestingModule` returned
 * @param store a clock, for a new `VirtualStore` on it; or a store of your own
 * @returns the builder
 * @throws {RateLimitConfigError} when `store` is neither
 * @example
 * ```ts
 * const clock = new VirtualClock();
 * const builder = Test.createTestingModule({ imports: [AppModule] });
 * const testingModule = await overrideRateLimitStore(builder, clock).compile();
 * ```
 */
export function overrideRateLimitStore<Builder extends TestingModuleBuilderLike>(
  builder: Builder,
  store: VirtualClock | RateLimitStore,
): Builder {
  builder.overrideProvider(RATE_LIMIT_STORE).useValue(storeOf(store));
  return builder;
}

/**
 * Lets every request of the application pass and counts nothing, for tests of other things. Guards, identities and headers work
 * as before; no connection is opened.
 *
 * @returns the builder
 * @example const testingModule = await withoutLimits(Test.createTestingModule({ imports: [AppModule] })).compile();
 */
export function withoutLimits<Builder extends TestingModuleBuilderLike>(builder: Builder): Builder {
  return overrideRateLimitStore(builder, new UnlimitedStore());
}

function storeOf(given: VirtualClock | RateLimitStore): RateLimitStore {
  if (given instanceof VirtualClock) return new VirtualStore(given);
  const { consume, reset } = (given ?? {}) as Partial<RateLimitStore>;
  if (typeof consume === 'function' && typeof reset === 'function') return given;
  throw new RateLimitConfigError(
    'overrideRateLimitStore',
    `takes a VirtualClock or a RateLimitStore, got ${shown(given)}`,
  );
}
