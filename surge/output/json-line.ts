import type { SurgeOptions } from '../options.js';
import type { Results } from './text-report.js';

/** The figures as one line of JSON. */
export function jsonLine({ pods, riders, seconds }: SurgeOptions, { before, after }: Results): string {
  return JSON.stringify({
    pods,
    riders,
    seconds,
    before: {
      p99Ms: rounded(before.p99Ms),
      failureRate: rounded(before.failureRate),
      matchingRps: rounded(before.matchingRps),
      ridersMatched: before.ridersMatched,
    },
    after: {
      p99Ms: rounded(after.p99Ms),
      failureRate: rounded(after.failureRate),
      mean429Ms: rounded(after.mean429Ms),
      matchingRps: rounded(after.matchingRps),
      ridersMatched: after.ridersMatched,
      overAdmitted: after.overAdmitted,
    },
  });
}

/** Rounds to four digits. JSON writes NaN as null. */
function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
