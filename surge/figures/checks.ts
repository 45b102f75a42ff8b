import type { Answer, Observation } from '../../src/riders/index.js';
import type { Route } from '../../src/riders/index.js';
import { groupBy } from './group-by.js';

export interface Bucket {
  readonly capacity: number;
  /** Per second. */
  readonly refill: number;
}

/** What a rider may have of each route, as the application's controllers say. */
export const RIDER_LIMITS: Readonly<Record<Route, Bucket>> = {
  rides: { capacity: 20, refill: 10 },
  fares: { capacity: 20, refill: 10 },
  nearby: { capacity: 30, refill: 15 },
};

type Admitted = Pick<Observation, 'sentAt' | 'answeredAt'>;

/** Whether a request got past the limiter, whatever became of it then. One without an answer may have, or not. */
export function isAdmitted({ status }: Answer): boolean {
  return status !== 429 && status !== 0;
}

/**
 * How many more than capacity + refill x time a rider was admitted, of all riders and routes together, in the worst interval of
 * each. Seen from outside: a decision fell between sending and answer, so the interval of some requests lasts from the first
 * one's sending to the last answer, and no less.
 */
export function overAdmitted(observations: readonly Observation[]): number {
  const byRiderAndRoute = groupBy(observations.filter(isAdmitted), ({ rider, route }) => `${rider} ${route}`);
  let over = 0;
  for (const admitted of byRiderAndRoute.values()) {
    const starts = admitted.map(({ sentAt }) => sentAt);
    over += excess(admitted, RIDER_LIMITS[admitted[0]!.route], starts);
  }
  return over;
}

/** The same of everybody together: intervals from each of `starts` on. */
export function excess(admitted: readonly Admitted[], { capacity, refill }: Bucket, starts: readonly number[]): number {
  const answered = admitted.toSorted((a, b) => a.answeredAt - b.answeredAt);
  let worst = 0;
  for (const start of starts) {
    let count = 0;
    for (const { sentAt, answeredAt } of answered) {
      if (sentAt < start) continue;
      count++;
      worst = Math.max(worst, count - Math.floor(capacity + (refill * (answeredAt - start)) / 1000));
    }
  }
  return worst;
}

/**
 * Matches that gave a driver to a second rider during a trip. A match was made between sending and answer; what could have been
 * a trip's length apart is not counted.
 */
export function doubleMatched(observations: readonly Observation[], tripMs: number): number {
  const matched = observations.filter(({ driverId }) => driverId !== undefined);
  let doubles = 0;
  for (const trips of groupBy(matched, ({ driverId }) => driverId).values()) {
    const inOrder = trips.toSorted((a, b) => a.answeredAt - b.answeredAt);
    for (const [i, { sentAt, answeredAt }] of inOrder.entries()) {
      for (const earlier of inOrder.slice(0, i)) {
        const apart = Math.max(answeredAt - earlier.sentAt, earlier.answeredAt - sentAt);
        if (apart < tripMs) doubles++;
      }
    }
  }
  return doubles;
}
