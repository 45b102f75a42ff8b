import type { Algorithm } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { FirstRequestWindows, FixedWindow } from '../../libs/floodgate/src/algorithms/fixed-window/fixed-window.js';
import { PrefetchBucket } from '../../libs/floodgate/src/algorithms/token-bucket/prefetch-bucket.js';
import { LeakyBucket } from '../../libs/floodgate/src/algorithms/leaky-bucket/leaky-bucket.js';
import { SlidingWindowCounter } from '../../libs/floodgate/src/algorithms/sliding-window-counter/sliding-window-counter.js';
import { TokenBucket } from '../../libs/floodgate/src/algorithms/token-bucket/token-bucket.js';

/** A policy of ARGV[3]. The header of lua/program.lua describes it. */
export interface WirePolicy {
  readonly algorithm: Algorithm;
  /** The cost that has to fit. */
  readonly ask: number;
  /** The cost that an allowed request is charged. */
  readonly take: number;
  /** The numbers of a reply that describe a level. */
  readonly encode: (level: never) => readonly number[];
}

type Kind = Pick<WirePolicy, 'encode'> & { readonly create: (...numbers: number[]) => Algorithm };

/** The algorithms that the simulated server knows: those that need no more than their level and have no lists. */
const KINDS: Readonly<Record<string, Kind>> = {
  'token-bucket': {
    create: (p, q, full) => new TokenBucket(full / q, { tokens: p, microseconds: q, rounded: false }),
    encode: (debt: number) => [debt],
  },
  'prefetch-bucket': {
    create: (p, q, full, length, want, generation, granted, used) => {
      const bucket = new PrefetchBucket(
        new TokenBucket(full / q, { tokens: p, microseconds: q, rounded: false }),
        length,
      );
      if (want === undefined) return bucket;
      // The program reads no more of the prefetch's instant than its generation.
      return bucket.prefetch.charge(want, { at: generation * length, granted, used });
    },
    encode: ({ debt, young, old, now }: { debt: number; young: number; old: number; now: number }) => [
      debt,
      young,
      old,
      now,
    ],
  },
  'leaky-bucket': {
    create: (p, q, full) => new LeakyBucket(full / q - 1, { tokens: p, microseconds: q, rounded: false }),
    encode: (debt: number) => [debt],
  },
  'fixed-window': {
    create: (limit, window, first) => new (first === undefined ? FixedWindow : FirstRequestWindows)(limit, window),
    encode: ({ count, left }: { count: number; left: number }) => [count, left],
  },
  'sliding-window-counter': {
    create: (limit, window) => new SlidingWindowCounter(limit, window),
    encode: ({ current, previous, left }: { current: number; previous: number; left: number }) => [
      current,
      previous,
      left,
    ],
  },
};

/** How many numbers an algorithm has on the wire. More of them mean a calendar or a reservation. */
const NUMBERS: Readonly<Record<string, readonly number[]>> = {
  'token-bucket': [3],
  // A charge that prefetches has four more.
  'prefetch-bucket': [4, 8],
  'leaky-bucket': [3],
  // Windows that begin with first requests have one more.
  'fixed-window': [2, 3],
  'sliding-window-counter': [2],
};

/**
 * Reads the policies of a call.
 *
 * @throws {Error} for one that the simulated server does not know
 */
export function readPolicies(text: string): readonly WirePolicy[] {
  return (JSON.parse(text) as [string, number, number, ...number[]][]).map(([name, ask, take, ...numbers]) => {
    const kind = KINDS[name];
    if (kind === undefined || NUMBERS[name]?.includes(numbers.length) !== true) {
      throw new Error(
        `ERR the simulated server knows plain charges of ${Object.keys(KINDS).join(', ')}, got ${name} with ` +
          `${numbers.length} numbers`,
      );
    }
    return { algorithm: kind.create(...numbers), ask, take, encode: kind.encode };
  });
}
