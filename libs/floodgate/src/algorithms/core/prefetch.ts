import type { Algorithm } from './algorithm.js';

/** The settlement of prefetched tokens: their process has used a part of them, and returns the rest. */
export interface TokenSettlement {
  /** The instant of the prefetch by the store's clock: whole microseconds. */
  readonly at: number;
  readonly granted: number;
  readonly used: number;
}

/** A window's prefetch is an ordinary charge, which later requests use up. */
export interface ChargedPrefetch {
  readonly kind: 'charged';
  /**
   * Microseconds for which a charge that was just made can be used up.
   *
   * @param resetAfter of the charge's verdict
   */
  usableFor(resetAfter: number): number;
}

/**
 * The prefetch of a window: tokens that are used later in their window count no less than at its charge. In the next one they would
 * count too little.
 */
export class WindowPrefetch implements ChargedPrefetch {
  readonly kind = 'charged';

  /** @param beyond microseconds for which the window's count still counts after its end */
  constructor(private readonly beyond = 0) {}

  usableFor(resetAfter: number): number {
    return resetAfter - this.beyond;
  }
}

/** A bucket knows of its prefetched tokens, which occupy it until they are settled. */
export interface GrantedPrefetch {
  readonly kind: 'granted';
  /**
   * The algorithm whose charge grants up to `want` tokens to a pod, and settles an earlier prefetch of this pod. It always fits,
   * and the refund marker of its receipt is how many tokens it has granted.
   */
  charge(want: number, settled?: TokenSettlement): Algorithm;
}

/** How a process takes tokens ahead of demand. */
export type Prefetch = ChargedPrefetch | GrantedPrefetch;
