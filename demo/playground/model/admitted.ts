import type { Mark } from './lane.js';

/** The busiest interval of a length: how many requests passed in it, and between which instants. */
export interface Busiest {
  readonly count: number;
  readonly from: number;
  readonly to: number;
}

/**
 * The interval of `length` microseconds, without its first instant, in which most requests passed: of several the shortest, then the latest. A delayed request passes when
 * its delay ends.
 *
 * @param now requests that pass later do not count yet
 */
export function busiest(marks: readonly Mark[], length: number, now: number): Busiest {
  const instants = marks.flatMap(({ allowed, at, delay }) => (allowed && at + delay <= now ? [at + delay] : []));
  let best: Busiest = { count: 0, from: 0, to: 0 };
  let first = 0;
  for (const [i, instant] of instants.entries()) {
    while (instants[first]! <= instant - length) first++;
    const count = i - first + 1;
    const one = { count, from: instants[first]!, to: instant };
    const isShorter = count === best.count && one.to - one.from <= best.to - best.from;
    if (count > best.count || isShorter) best = one;
  }
  return best;
}
