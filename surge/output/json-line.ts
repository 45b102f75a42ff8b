import type { Busyness } from '../figures/busyness.js';
import type { SurgeOptions } from '../options.js';
import type { Results, Verdict } from './verdict.js';

/** The figures as one line of JSON. docs/demo.md explains the fields. */
export function jsonLine(
  { pods, riders, seconds, scale }: SurgeOptions,
  { before, after }: Results,
  { hold, busy }: Verdict,
): string {
  return JSON.stringify({
    pods,
    riders,
    seconds,
    scale,
    before: {
      p99Ms: rounded(before.p99Ms),
      failureRate: rounded(before.failureRate),
      meanFailureMs: rounded(before.meanFailureMs),
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
    limitsHold: hold,
    busy: busy.map((one: Busyness) => ({
      case: one.case,
      lateP99Ms: rounded(one.lateP99Ms),
      eventLoop: rounded(one.eventLoop),
      othersCpu: rounded(one.othersCpu),
    })),
  });
}

/** Rounds to four digits. JSON writes NaN as null. */
function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
