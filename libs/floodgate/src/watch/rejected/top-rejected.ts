/**
 * The identities that were rejected most often. The counts are bounds, because memory is bounded: between `atLeast` and `atMost` is at
 * most 1/256 of all rejections. Policies `by: 'global'` and policies in shadow are left out.
 */
export interface TopRejected {
  /** At most 20, with the largest `atLeast` first. */
  readonly identities: readonly RejectedIdentity[];
  /** Every identity that is not listed was rejected at most so often. */
  readonly othersAtMost: number;
}

export interface RejectedIdentity {
  /**
   * The identity's tag, such as `'user:rider-1'`; with `decisionIdentity: 'hash'` a hash of its value. An API key is always a
   * hash.
   */
  readonly identity: string;
  /** The policy that rejected it last. */
  readonly policy: string;
  /** The rejections that are certain. Two policies that reject one request count twice. */
  readonly atLeast: number;
  /** The rejections that are possible. */
  readonly atMost: number;
}
