/** A whole number. */
export type Count = number | bigint;

/** So many tokens, or departures, in so many microseconds. */
export interface Rate {
  readonly tokens: Count;
  readonly microseconds: Count;
}

/** @param count a whole number */
export function perSecond(count: Count): Rate {
  return { tokens: count, microseconds: 1_000_000 };
}

/**
 * The least number of microseconds after which a condition holds that holds from some instant on. It asks the definition at
 * each instant, so no formula has to be right.
 */
export function leastWait(at: number, holds: (instant: number) => boolean): number {
  if (holds(at)) return 0;
  const longest = Number.MAX_SAFE_INTEGER - at;
  let [before, enough] = [0, 1];
  while (enough < longest && !holds(at + enough)) [before, enough] = [enough, Math.min(2 * enough, longest)];
  while (enough - before > 1) {
    const middle = before + Math.floor((enough - before) / 2);
    if (holds(at + middle)) enough = middle;
    else before = middle;
  }
  return enough;
}
