/** The store became unavailable, or is available again. */
export interface StoreStateChange {
  /** Whether the store decides now. */
  readonly available: boolean;
  /** Why the store does not decide, or did not until now. */
  readonly reason: string;
  /** Milliseconds that the store did not decide; 0 when the outage has just begun. */
  readonly outageMs: number;
  /** The node of a Redis Cluster that the change is about, `'10.0.0.7:6379'`. Without it, the change is about all of the store. */
  readonly node?: string;
}
