import type { Decider } from '../../charges/decider.js';
import type { Denials } from '../../stores/denials.js';
import type { RateLimitStore } from '../../stores/store.js';
import { type StoreTraits, traitsOf } from '../../stores/traits.js';
import { RateLimitConfigError } from '../../util/config-error.js';
import type { Duration } from '../../util/duration.js';
import { duration, type OptionRule } from '../../util/option-rules.js';
import { DenialCache } from './denial-cache.js';
import { DenialsLayer } from './denials.js';

/** The option of the denial cache. */
export interface DenialOptions {
  /**
   * The longest time that a certain rejection stays in the denial cache: 0 (no cache) to `'10s'` in whole milliseconds, default
   * `'1s'`. Until a policy's `retryAfter` the answer to the same request is certain, and Redis is not asked again.
   */
  denialCache?: Duration | undefined;
}

/** The option as it is checked, and the store beside it. */
interface CheckedDenials {
  readonly given: () => DenialOptions & { readonly store?: RateLimitStore | undefined };
  readonly denialCacheMs: number;
  readonly where: string;
}

/**
 * The cache of a limiter; undefined where it has none. A virtual clock may drive a store that the application gives, so its denials are
 * kept only on request.
 *
 * @throws {RateLimitConfigError} for a cache over a store in this process
 */
function cache({ given, denialCacheMs, where }: CheckedDenials): DenialCache | undefined {
  const { store, denialCache } = given();
  if (denialCacheMs === 0 || (store !== undefined && denialCache === undefined)) return undefined;
  if (store === undefined || !traitsOf(store).isLocal) return new DenialCache(denialCacheMs);
  throw new RateLimitConfigError(
    where,
    'denialCache has no effect with a MemoryStore: leave it out, a MemoryStore answers as fast as the cache',
    'FG_OPTION_WITHOUT_EFFECT',
  );
}

function layer(
  inner: Decider,
  { traits }: { readonly traits: StoreTraits },
  { denials: kept }: { readonly denials?: Denials | undefined },
): DenialsLayer | undefined {
  return kept && new DenialsLayer(kept, !traits.notesDenials, inner);
}

export const denials = {
  options: {
    denialCache: { ...duration('1s', 0, 10_000), needsRedis: true, shortMs: 10 },
  } as const satisfies Record<keyof DenialOptions, OptionRule>,
  denials: cache,
  layer,
};
