/** What the page receives of the pods. The file has types only, so that TypeScript can check the page's modules against them. */

/** Facts that do not change while the process runs. */
export interface PodsDescription {
  readonly pods: number;
  /** The requests that a press sends to each pod, at the same moment. */
  readonly each: number;
  /** The rider's limit: a bucket of so many tokens. */
  readonly limit: number;
  /** Tokens that come back per minute. */
  readonly refillPerMinute: number;
  /** What one pod admits of the limit while Redis is away: `localShare` is the number of pods. */
  readonly share: number;
}

/**
 * `asleep`: they start at the first use, and end when nobody watches any more. `unavailable`: they could not start; `problem` says
 * why.
 */
export type PodsPhase = 'asleep' | 'starting' | 'ready' | 'unavailable';

/** What the pods share when they count together: a Redis, or a store in the memory of one process that has all of them. */
export type SharedStoreKind = 'redis' | 'memory';

export interface PodsTick {
  readonly phase: PodsPhase;
  /** Why the phase is `unavailable`. */
  readonly problem: string | null;
  /** False: each pod counts alone. True: all count in the shared store. */
  readonly together: boolean;
  readonly store: {
    /** Null before the first use. */
    readonly kind: SharedStoreKind | null;
    /** Why it is no Redis. */
    readonly problem: string | null;
    readonly isUp: boolean;
    /** The shared bucket of the last rider who was counted in it; null while no pod reaches it. */
    readonly bucket: Bucket | null;
  };
  readonly pods: readonly PodTick[];
  readonly results: PodsResults;
}

export interface PodTick {
  /** `ended`: the process has ended, and starts again. */
  readonly state: 'asleep' | 'starting' | 'up' | 'ended';
  /** The last line that an ended process left. */
  readonly problem: string | null;
  /** How this pod counts now. All else of it is of this way of counting. */
  readonly counting: Counting;
  /** The bucket that decides in this pod about the last rider who was counted so; null where the shared one does. */
  readonly bucket: Bucket | null;
  /** What this pod answered to that rider; null before the first. */
  readonly result: PodResult | null;
}

/** What one pod answered to a rider. */
export interface PodResult {
  /** Null: the pod decided some requests with its share and others in the shared store, which is no way of counting. */
  readonly counting: Counting | null;
  readonly passed: number;
  readonly refused: number;
  readonly failed: number;
}

/** A rider's tokens. */
export interface Bucket {
  readonly limit: number;
  readonly tokens: number;
}

/** How pods count. `outage`: with their shares, since the shared store is away. A press was counted so if that was so for some request. */
export type Counting = 'alone' | 'together' | 'outage';

/** The last result of each way of counting. */
export type PodsResults = Readonly<Record<Counting, PodsResult | null>>;

/** What a new rider got who sent requests to all pods at the same moment. */
export interface PodsResult {
  /** Counts the presses of this process, from 1. */
  readonly id: number;
  readonly counting: Counting;
  readonly sent: number;
  readonly passed: number;
  /** Of `passed`: tokens that came back while the requests were under way. */
  readonly refilled: number;
  readonly refused: number;
  /** Requests without an answer, or with another one. */
  readonly failed: number;
  /** Of the answers: those that a pod decided with its share of the limit, because it did not reach the shared store. */
  readonly decidedByShare: number;
  readonly pods: readonly PodResult[];
  readonly tookMs: number;
}
