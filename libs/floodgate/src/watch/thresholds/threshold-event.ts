/** One identity that has used up a part of a policy's limit, for `onThreshold`. */
export interface ThresholdEvent {
  /**
   * The tag of the identity that the policy counts, such as `'user:rider-1'`; `'global:<name>'` for a policy `by: 'global'`. With
   * `decisionIdentity: 'hash'` a hash of its value. An API key is always a hash.
   */
  readonly identity: string;
  /** The policy's name; `'default'` when it has none. */
  readonly policy: string;
  /** The plan whose numbers the identity has; absent where these are the policy's own. */
  readonly plan?: string;
  /** The version of the override whose numbers the identity has; absent without one. */
  readonly override?: number;
  /** The level of `thresholds` that was reached, such as 0.8. */
  readonly level: number;
  /** The policy's capacity or limit, for this identity. */
  readonly limit: number;
  /** Requests of cost 1, and of the same class of priority, that would pass after the request that reached the level. */
  readonly remaining: number;
  /** When all of the limit is available again, if nothing else happens: milliseconds since 1970 by the clock that decided. */
  readonly resetAtMs: number;
  /** What counted: `'local'` is this process with its share of the limit, while the store was unavailable. */
  readonly source: 'store' | 'local';
}
