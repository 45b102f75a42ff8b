import { ATTEMPTS, type Observation } from '../../riders/index.js';
import { groupBy } from './group-by.js';
import { timesOf } from './times.js';

/** What became of the people who wanted a ride while the crowd was there. Times are milliseconds; NaN without a person. */
export interface PeopleFigures {
  /** Those who asked for a ride. */
  readonly wanted: number;
  /** Those who got a driver. */
  readonly matched: number;
  /** The mean time from the first request of that visit for the ride to the driver. */
  readonly matchedAfterMs: number;
  /** Those who closed the app without a driver: after their last attempt, or because there was no driver. */
  readonly gaveUp: number;
  /** The mean time from the first request of that visit for the ride until they closed the app. */
  readonly gaveUpAfterMs: number;
  /** Those who were still trying when the crowd left. */
  readonly trying: number;
}

type Asked = Pick<Observation, 'route' | 'rider' | 'attempt' | 'status' | 'driverId' | 'sentAt' | 'answeredAt'>;

/**
 * Counts people, not requests: a person may want several rides, and repeats requests. A person who got one of them is matched.
 *
 * @param untilMs when the crowd left: an answer after that comes too late to count
 */
export function peopleOf(observations: readonly Asked[], untilMs: number): PeopleFigures {
  const rides = observations.filter(({ route, sentAt }) => route === 'rides' && sentAt <= untilMs);
  const matched: number[] = [];
  const gaveUp: number[] = [];
  const people = groupBy(rides, ({ rider }) => rider);
  for (const asked of people.values()) {
    const { matchedAfterMs, gaveUpAfterMs } = storyOf(asked, untilMs);
    if (matchedAfterMs !== undefined) matched.push(matchedAfterMs);
    else if (gaveUpAfterMs !== undefined) gaveUp.push(gaveUpAfterMs);
  }
  return {
    wanted: people.size,
    matched: matched.length,
    matchedAfterMs: timesOf(matched).mean,
    gaveUp: gaveUp.length,
    gaveUpAfterMs: timesOf(gaveUp).mean,
    trying: people.size - matched.length - gaveUp.length,
  };
}

/** How the rides of one person ended first, as far as they did. */
function storyOf(asked: readonly Asked[], untilMs: number): { matchedAfterMs?: number; gaveUpAfterMs?: number } {
  let wantedAt = 0;
  let gaveUpAfterMs: number | undefined;
  // One person has one request at a time.
  for (const { attempt, status, driverId, sentAt, answeredAt } of asked.toSorted((a, b) => a.sentAt - b.sentAt)) {
    if (attempt === 1) wantedAt = sentAt;
    if (answeredAt > untilMs) continue;
    if (driverId !== undefined) return { matchedAfterMs: answeredAt - wantedAt };
    if (attempt === ATTEMPTS || status === 200) gaveUpAfterMs ??= answeredAt - wantedAt;
  }
  return gaveUpAfterMs === undefined ? {} : { gaveUpAfterMs };
}
