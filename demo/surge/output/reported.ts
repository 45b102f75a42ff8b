/** Figures reported for the same surge on another system, for comparison: 12 pods, 2,000 riders, 3 minutes. */
export const REPORTED = {
  p99Ms: { before: 40_000, after: 590 },
  failureRate: { before: 0.201, after: 0.001 },
  mean429Ms: { before: NaN, after: 2 },
  matchingRps: { before: 378, after: 105 },
  queueWaitMs: { before: 30_000, after: 5 },
  utilisation: { before: 1, after: 0.62 },
} as const;
