import type { Charge } from './charge.js';
import type { Verdict } from './store.js';

/** Counts what a store does beside deciding. */
export interface StoreObserver {
  /** A batch of `size` requests was sent. */
  batch(size: number): void;
  /** A probe failed: the store is still unavailable. */
  probeFailed(): void;
}

/** A rejection that is certain to be repeated, and the monotonic millisecond at which the store was asked for it. */
export interface KnownDenial {
  readonly verdict: Verdict;
  readonly sentAt: number;
}

/** Keeps the rejections that are certain, so that the store is not asked for them again. */
export interface Denials {
  /** The certain rejection of a request; undefined when the store has to be asked. */
  findSent(charges: readonly Charge[]): KnownDenial | undefined;
  /**
   * Notes a verdict if it is a rejection.
   *
   * @param sentAt monotonic milliseconds at which the store was asked
   * @param under the key of the charge under which the rejection is kept; default the first one that rejected
   */
  note(charges: readonly Charge[], verdict: Verdict, sentAt: number, under?: string): void;
  /** Forgets the rejections that depend on these keys, also those whose answer is still under way. */
  forget(keys: readonly string[]): void;
}
