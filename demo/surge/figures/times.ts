/** An exact distribution of times in milliseconds; NaN without times. */
export interface Times {
  readonly count: number;
  readonly mean: number;
  readonly min: number;
  readonly median: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

export function timesOf(milliseconds: readonly number[]): Times {
  const sorted = Float64Array.from(milliseconds).toSorted();
  const count = sorted.length;
  // The nearest-rank method returns a measured time, not an interpolated one.
  const rank = (share: number): number => sorted[Math.max(0, Math.ceil(share * count) - 1)] ?? NaN;
  const sum = sorted.reduce((total, time) => total + time, 0);
  return {
    count,
    mean: sum / count,
    min: rank(0),
    median: rank(0.5),
    p95: rank(0.95),
    p99: rank(0.99),
    max: rank(1),
  };
}
