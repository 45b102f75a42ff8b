import type { Answer, Observation, Route } from '../../riders/index.js';
import { groupBy } from './group-by.js';

export interface Bucket {
  readonly capacity: number;
  /** Tokens per second. */
  readonly refill: number;
}

/** The limits of one rider on each route: the policies `RIDES`, `FARES` and `NEARBY` of the application. */
export const RIDER_LIMITS: Readonly<Record<Route, Bucket>> = {
  rides: { capacity: 20, refill: 10 },
  fares: { capacity: 20, refill: 10 },
  nearby: { capacity: 30, refill: 15 },
};

type Admitted = Pick<Observation, 'sentAt' | 'answeredAt'>;

/** Whether the limiter admitted a request, even if matching failed later. A request without an answer counts as not admitted. */
export function isAdmitted({ status }: Answer): boolean {
  return status !== 429 && status !== 0;
}

/**
 * The requests of riders that were admitted beyond capacity + refill x time: the worst interval of each rider and route, summed.
 *
 * A decision falls between sending and answer. So the interval of some requests lasts from the first sending to the last
 * answer, and the check never accuses an exact limiter.
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

/** The requests admitted beyond capacity + refill x time, in the worst interval that begins at one of `starts`. */
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
 * The matches that gave a driver to a second rider during a trip.
 *
 * A match falls between sending and answer. Two matches that may be a trip's length apart do not count.
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
