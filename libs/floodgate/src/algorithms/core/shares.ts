import type { Algorithm } from './algorithm.js';

/** How an algorithm is divided among processes, or among shards. */
export interface Shares {
  /** Whether a policy can split its state into shards that decide independently. */
  readonly shardable: boolean;
  /**
   * The algorithm with one process's equal part of the limit and of the rate.
   *
   * @param atLeast the smallest limit of a part, unless the whole limit is smaller
   */
  of(processes: number, atLeast: number): Algorithm;
}

/** An equal part of a limit, rounded down: at least `atLeast`, at most the whole limit. */
export function shareOfLimit(limit: number, processes: number, atLeast: number): number {
  return Math.min(limit, Math.max(atLeast, Math.floor(limit / processes)));
}

/** Shares of an algorithm whose states hold no limit: they stay valid under any share. */
export class LimitShares implements Shares {
  /** @param whole `withLimit` makes the algorithm with another limit */
  constructor(
    private readonly whole: Algorithm & { withLimit(limit: number): Algorithm },
    readonly shardable = true,
  ) {}

  of(processes: number, atLeast: number): Algorithm {
    return processes === 1 ? this.whole : this.whole.withLimit(shareOfLimit(this.whole.limit, processes, atLeast));
  }
}
