import type { Algorithm } from '../algorithms/core/algorithm.js';
import { type Duration, durationToMicroseconds } from '../util/duration.js';
import { nameShown, shown } from '../util/config-error.js';

/**
 * Lets each process take tokens for its busy clients ahead of demand, and decide on its own while they last. The limit holds all
 * the same. Needs Redis with its own clock.
 *
 * @example { for: '100ms', max: 200 }
 */
export interface PrefetchOptions {
  /**
   * How far ahead: milliseconds, or text such as `'100ms'`, from 10 ms to 1 min. Of a token bucket it is how long a prefetch lasts, and
   * the capacity should be at least four times what all processes use in that time. Prefetches of windows last until the window ends.
   */
  readonly for: Duration;
  /** The tokens of one prefetch at most: a whole number from 2 to 1,000,000. */
  readonly max: number;
}

/** `PrefetchOptions` that were checked. */
export interface PrefetchTerms {
  /** Microseconds. */
  readonly length: number;
  readonly max: number;
}

const SHORTEST = 10_000;
const LONGEST = 60_000_000;
const FEWEST = 2;
const MOST = 1_000_000;
/** A prefetch takes at most this part of what is left. */
const PART = 4;
const EXAMPLE = `{ for: '100ms', max: 200 }`;

/**
 * The option `prefetch` of a policy; undefined without it.
 *
 * @param fail throws what is wrong with it
 */
export function readPrefetch(
  { prefetch }: { readonly prefetch?: unknown },
  fail: (problem: string) => never,
): PrefetchTerms | undefined {
  if (prefetch === undefined) return undefined;
  if (typeof prefetch !== 'object' || prefetch === null || Array.isArray(prefetch)) {
    return fail(`prefetch must be an object such as ${EXAMPLE}, got ${shown(prefetch)}`);
  }
  const { for: time, max, ...rest } = prefetch as Readonly<Record<string, unknown>>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined)
    fail(`prefetch has no option ${nameShown(unknown)}: it must have for and max, as in ${EXAMPLE}`);
  const length = durationToMicroseconds(time);
  if (length === undefined || length < SHORTEST || length > LONGEST) {
    return fail(
      `prefetch.for must be milliseconds or a duration such as '100ms', from ${SHORTEST / 1000} ms to ${LONGEST / 1000} ms, got ${shown(time)}`,
    );
  }
  if (!Number.isInteger(max) || (max as number) < FEWEST || (max as number) > MOST) {
    return fail(`prefetch.max must be a whole number from ${FEWEST} to ${MOST}, got ${shown(max)}`);
  }
  return { length, max: max as number };
}

/** The terms as a policy gives them. */
export function givenTerms(terms: PrefetchTerms | undefined): PrefetchOptions | undefined {
  return terms && { for: terms.length / 1000, max: terms.max };
}

/** The warning that a policy's limit is too small for its prefetch to have an effect; undefined if it has one. */
export function prefetchWithoutEffect({ limit }: Algorithm, cost: unknown): string | undefined {
  const needed = PART * Math.max(FEWEST, typeof cost === 'number' ? cost : 1);
  if (limit >= needed || limit === 0) return undefined;
  return `prefetch has no effect with a limit of ${limit}: a prefetch takes at most a quarter of what is left, so it needs ${needed}`;
}
