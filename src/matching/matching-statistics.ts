/** Milliseconds that requests waited for a worker; zeros without requests. */
export interface Waits {
  readonly mean: number;
  readonly p99: number;
  readonly max: number;
}

/** The load of matching. */
export interface MatchingStatistics {
  readonly workers: number;
  readonly busy: number;
  readonly waiting: number;
  /** Requests that may wait. */
  readonly queue: number;
  /** The last seconds: the busy share of the workers' time, 0 to 1, and the waits of requests that got a worker. */
  readonly recent: { readonly utilisation: number; readonly waitMs: Waits };
  /** Since the start. The utilisation between two reads is the difference of `busyMs`, divided by time and workers. */
  readonly total: {
    readonly asked: number;
    /** Requests that matching rejected before they got a worker. */
    readonly unavailable: number;
    /** Requests whose client left before they got a worker: no failures of matching. All others got one or still wait. */
    readonly abandoned: number;
    readonly busyMs: number;
    readonly waitMs: Waits;
  };
}
