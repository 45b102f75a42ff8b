/** A store became unavailable, or available again. */
export interface StoreStateChange {
  /** Whether the store decides now. */
  readonly available: boolean;
  /** Why the store is unavailable, or was until now. */
  readonly reason: string;
  /** Milliseconds that the store was unavailable; 0 when the outage begins. */
  readonly outageMs: number;
  /** The node of a Redis Cluster that changed, such as `'10.0.0.7:6379'`. Undefined when the whole store changed. */
  readonly node?: string;
}
