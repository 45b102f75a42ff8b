import type { CaseFigures, RouteFigures } from '../../figures/figures.js';
import { timesOf } from '../../figures/times.js';
import { ROUTES } from '../../../riders/index.js';
import type { Results } from '../verdict.js';

const route = (name: RouteFigures['route']): RouteFigures => ({
  route: name,
  times: timesOf([1, 2, 40_000]),
  rejected: timesOf([2.6]),
  perSecond: 1234,
  rejectedPerSecond: 1000,
  failureRate: 0.1,
  servedRate: 0.4,
});

/** Figures for tests: those of a surge with limits, on a quiet machine, but for `some`. */
export function figures(some: Partial<CaseFigures> = {}): CaseFigures {
  return {
    routes: [...ROUTES, 'all' as const].map(route),
    p99Ms: 125,
    failureRate: 0,
    servedRate: 0.2,
    rejectedRate: 0.8,
    mean429Ms: 2.6,
    meanFailureMs: NaN,
    matchingRps: 50,
    people: { wanted: 1200, matched: 560, matchedAfterMs: 320, gaveUp: 500, gaveUpAfterMs: 2600, trying: 140 },
    retryRate: 0.5,
    rides: 580,
    withoutDriver: 0,
    rejectedByRider: 0,
    rejectedByMatching: 4000,
    queueWaitMs: { p99: 2.1, max: 4 },
    utilisation: 0.887,
    decisionMs: { median: 0.8, p99: 5.5 },
    pingMs: { median: 0.4, p99: 3.9 },
    redisCpu: 0.043,
    decidedLocally: 0,
    overAdmitted: 0,
    doubleMatched: 0,
    generator: { cpu: 0.11, eventLoop: 0.12, lateP99Ms: 4 },
    podsCpu: 0.6,
    matchingCpu: 0.2,
    othersCpu: 0.05,
    burst: { sent: 120, admitted: 20, tookMs: 130, refilled: 0, over: 0 },
    ...some,
  };
}

const collapsed = {
  failureRate: 0.601,
  servedRate: 0.399,
  rejectedRate: 0,
  p99Ms: 3100,
  meanFailureMs: 3010,
  mean429Ms: NaN,
  people: { wanted: 1100, matched: 216, matchedAfterMs: 1900, gaveUp: 600, gaveUpAfterMs: 7400, trying: 284 },
};

/** The figures of a surge as it should be. */
export const RESULTS: Results = { before: figures(collapsed), riders: figures(collapsed), after: figures() };
