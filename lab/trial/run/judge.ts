import type { Definition, Limit } from '../adapter.js';
import { type Asked, type Broken } from './asked.js';

/** The most that a limiter may admit in an interval of so many windows. */
const MOST: Readonly<Record<Definition, (limit: number, windows: number) => number>> = {
  log: (limit, windows) => limit * Math.floor(windows + 1),
  // One more: a window may begin and end within the interval.
  window: (limit, windows) => limit * Math.floor(windows + 2),
  counter: (limit, windows) => limit * Math.floor(windows + 2) - 1,
  bucket: (limit, windows) => limit + limit * windows,
};

export const DEFINITIONS = Object.keys(MOST) as readonly Definition[];

/** The most that a limiter may admit in an interval, by what it counts. */
export function most(definition: Definition, { limit, windowMs }: Limit, lengthMs: number): number {
  return MOST[definition](limit, lengthMs / windowMs);
}

/**
 * The fewest requests that show that a key was admitted too much. A request was decided between its sending and its answer, so an
 * interval is as long as from the first sending to the last answer: no doubt counts against the limiter.
 *
 * @param allowed the most in an interval of this length that ends at this instant
 */
export function excess(
  history: readonly Asked[],
  allowed: (lengthMs: number, end: number) => number,
  why: string,
): Broken | undefined {
  const passed = history.filter(({ answer }) => answer === 'allowed');
  let fewest: Asked[] | undefined;
  for (const { sent: from } of passed) {
    const within = passed.filter(({ sent }) => sent >= from).toSorted((one, other) => one.answered - other.answered);
    let sum = 0;
    const last = within.findIndex(({ cost, answered }) => (sum += cost) > allowed(answered - from, answered));
    if (last !== -1 && (fewest === undefined || last < fewest.length)) fewest = within.slice(0, last + 1);
  }
  return fewest && { why, history: fewest };
}
