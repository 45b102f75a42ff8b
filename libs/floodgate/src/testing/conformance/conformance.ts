import type { RateLimitStore } from '../../stores/store.js';
import { RateLimitConfigError, shown } from '../../util/config-error.js';
import { ALTERNATIVES } from './alternatives.js';
import { BLOCKS } from './blocks.js';
import { CONCURRENT_REQUESTS } from './concurrency.js';
import { EVERY_ALGORITHM } from './every-algorithm.js';
import { HEADROOM } from './headroom.js';
import { type Law, type Laws, lawsOf } from './laws.js';
import { LEASES } from './leases.js';
import { REFUNDS } from './refunds.js';
import { SETTLEMENTS } from './settlements.js';
import { SEVERAL_POLICIES } from './several-policies.js';
import { CONCURRENCY } from './tables/concurrency.js';
import { FIXED_WINDOW } from './tables/fixed-window.js';
import { LEAKY_BUCKET } from './tables/leaky-bucket.js';
import { SLIDING_WINDOW_COUNTER } from './tables/sliding-window-counter.js';
import { SLIDING_WINDOW_LOG } from './tables/sliding-window-log.js';
import { TOKEN_BUCKET } from './tables/token-bucket.js';
import { type OpenStore, Timeline } from './timeline.js';

/** A store that is tested. */
export interface StoreUnderTest {
  /** The title of the tests. */
  readonly name: string;
  /** Opens a new, empty store, which decides by the given clock. Called at least once in each case. */
  readonly open: OpenStore;
  /** Closes a store at the end of its case. Default nothing. */
  readonly close?: (store: RateLimitStore) => void | Promise<void>;
}

/** One case of the suite. */
export interface ConformanceCase {
  readonly name: string;
  /** Rejects with an `AssertionError` that says what was expected and what the store answered. */
  readonly run: () => Promise<void>;
}

/** The functions of a test framework: Jest, Vitest and node:test have them. */
export interface TestFramework {
  readonly describe: (name: string, body: () => void) => unknown;
  readonly test: (name: string, body: () => Promise<void>) => unknown;
}

const SUITE: Readonly<Record<string, Laws>> = {
  'token bucket': lawsOf(TOKEN_BUCKET),
  'leaky bucket': lawsOf(LEAKY_BUCKET),
  'fixed window': lawsOf(FIXED_WINDOW),
  'sliding window log': lawsOf(SLIDING_WINDOW_LOG),
  'sliding window counter': lawsOf(SLIDING_WINDOW_COUNTER),
  concurrency: lawsOf(CONCURRENCY),
  'every algorithm': EVERY_ALGORITHM,
  'several policies': SEVERAL_POLICIES,
  'concurrent requests': CONCURRENT_REQUESTS,
  refunds: REFUNDS,
  settlements: SETTLEMENTS,
  leases: LEASES,
  blocks: BLOCKS,
  headroom: HEADROOM,
  alternatives: ALTERNATIVES,
};

/**
 * The cases that every store has to pass to decide as `MemoryStore` and `RedisStore` do: they run these very cases. Each case opens
 * stores of its own, sets their clock, and compares every field of every verdict.
 *
 * @throws {RateLimitConfigError} when `open` is no function
 * @example for (const { name, run } of rateLimitStoreConformance({ name: 'my store', open })) test(name, run);
 */
export function rateLimitStoreConformance(store: StoreUnderTest): readonly ConformanceCase[] {
  if (typeof store?.open !== 'function') {
    throw new RateLimitConfigError(
      'rateLimitStoreConformance',
      `open must be a function that opens a store, got ${shown(store?.open)}`,
    );
  }
  return Object.entries(SUITE).flatMap(([subject, laws]) =>
    Object.entries(laws).map(([title, law]) => ({ name: `${subject}: ${title}`, run: () => obey(law, store) })),
  );
}

/**
 * Registers the cases of `rateLimitStoreConformance` as tests.
 *
 * @param framework `describe` and `test` of the test framework
 * @example describeRateLimitStore({ name: 'my store', open: (settings) => new MyStore(settings) }, { describe, test });
 */
export function describeRateLimitStore(store: StoreUnderTest, { describe, test }: TestFramework): void {
  const cases = rateLimitStoreConformance(store);
  describe(store.name, () => {
    for (const { name, run } of cases) test(name, run);
  });
}

async function obey(law: Law, { open, close }: StoreUnderTest): Promise<void> {
  const opened: RateLimitStore[] = [];
  const tracked: OpenStore = async (settings) => {
    const store = await open(settings);
    opened.push(store);
    return store;
  };
  try {
    await law((maxSkewMs) => Timeline.open(tracked, maxSkewMs));
  } finally {
    for (const store of opened) await close?.(store);
  }
}
