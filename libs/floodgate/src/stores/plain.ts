import type { Algorithm } from '../algorithms/core/algorithm.js';
import type { Charge, StateEntry } from './charge.js';
import type { ChargeVerdict } from './store.js';

/** The verdict on a request of one plain charge. */
export interface PlainVerdict extends ChargeVerdict {
  /** The instant of the decision: microseconds since 1970. */
  readonly at: number;
}

/** A store in this process that decides one charge by the entry of its key. */
export interface PlainStore {
  /**
   * Decides as `consume` does. Undefined where the entry is not the store's any more, or has no room to grow: ask `consume` then.
   *
   * @param entry of the charge's key, as the store has left it on the charge
   * @param charge is read for a rejection alone: with many clients it is rarely in the CPU's cache, and what follows mostly is
   * @param algorithm of the charge
   * @param cost of the charge, from 1
   * @param headroom of the charge
   */
  consumePlain(
    entry: StateEntry,
    charge: Charge,
    algorithm: Algorithm,
    cost: number,
    headroom: number,
  ): PlainVerdict | undefined;
}
