import type { Busyness } from '../figures/busyness.js';
import type { SurgeOptions } from '../options.js';
import type { CaseFigures } from '../figures/figures.js';
import { servedRateOf } from './tables.js';
import type { Results, Verdict } from './verdict.js';

/**
 * The figures as one line of JSON: `before` without a limiter, `after` with both limits. Rates and `utilisation` are 0 to 1. Times are in
 * milliseconds, of requests that were not refused, and null where there was none. `busy` lists the cases for which the machine was too busy.
 */
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
    before: { ...common(before), meanFailureMs: rounded(before.meanFailureMs) },
    after: { ...common(after), mean429Ms: rounded(after.mean429Ms), overAdmitted: after.overAdmitted },
    limitsHold: hold,
    busy: busy.map((one: Busyness) => ({
      case: one.case,
      lateP99Ms: rounded(one.lateP99Ms),
      eventLoop: rounded(one.eventLoop),
      othersCpu: rounded(one.othersCpu),
    })),
  });
}

/** What both cases have. */
function common(figures: CaseFigures): object {
  const { p99Ms, failureRate, retryRate, matchingRps, queueWaitMs, utilisation, people } = figures;
  return {
    p99Ms: rounded(p99Ms),
    failureRate: rounded(failureRate),
    ridesServedRate: rounded(servedRateOf(figures, 'rides')),
    estimatesServedRate: rounded(servedRateOf(figures, 'fares')),
    retryRate: rounded(retryRate),
    matchingRps: rounded(matchingRps),
    waitP99Ms: rounded(queueWaitMs.p99),
    utilisation: rounded(utilisation),
    ridersWanting: people.wanted,
    ridersMatched: people.matched,
    matchedAfterMs: rounded(people.matchedAfterMs),
    ridersGaveUp: people.gaveUp,
    gaveUpAfterMs: rounded(people.gaveUpAfterMs),
  };
}

/** Rounds to four digits. JSON writes NaN as null. */
function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
