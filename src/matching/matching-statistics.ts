/** Milliseconds that requests waited for a worker; zeros when there were none. */
export interface Waits {
  readonly mean: number;
  readonly p99: number;
  readonly max: number;
}

/** How busy matching is. */
export interface MatchingStatistics {
  readonly workers: number;
  readonly busy: number;
  readonly waiting: number;
  /** Places for those who wait. */
  readonly queue: number;
  /** The last seconds: the share of the workers' time that was used, 0 to 1, and the waits of those who got a worker. */
  readonly recent: { readonly utilisation: number; readonly waitMs: Waits };
  /** Since the start. Of two looks, the difference of `busyMs` by time and workers is the utilisation in between. */
  readonly total: {
    readonly asked: number;
    /** Of these, those who did not get a worker; the rest did, or still wait. */
    readonly unavailable: number;
    readonly busyMs: number;
    readonly waitMs: Waits;
  };
}
