import type { Algorithm } from '../../algorithms/core/algorithm.js';
import type { Charge } from '../charge.js';
import type { ChargeVerdict, Verdict } from '../store.js';
import type { EntryHandle } from './entry.js';

/** The verdict on a request with one plain charge: the request's and the charge's at once, so that it is one object. */
export class PlainVerdict implements Verdict, ChargeVerdict {
  constructor(
    readonly allowed: boolean,
    readonly at: number,
    readonly remaining: number,
    readonly resetAfter: number,
    readonly retryAfter: number,
    readonly delay: number,
  ) {}

  /** The verdicts as an array, made on first use. */
  get charges(): readonly ChargeVerdict[] {
    return [this];
  }

  /** The verdict of a single charge as one object. */
  static of({ allowed, at, charges: [charge] }: Verdict): PlainVerdict {
    const { remaining, resetAfter, retryAfter, delay } = charge!;
    return new PlainVerdict(allowed, at, remaining, resetAfter, retryAfter, delay);
  }
}

/** Decides requests of one plain charge. If the caller keeps the entry of the key, this takes one look-up and one decision. */
export interface PlainStore {
  /**
   * @param place where the caller keeps the entry of the key; undefined if it keeps none
   * @param charge the charge; it is read only where the entry is not known yet, because it is rarely in the CPU's cache
   * @param algorithm the charge's algorithm
   * @param cost the charge's cost
   * @param headroom the charge's headroom
   */
  consumePlain(
    handle: EntryHandle | undefined,
    charge: Charge,
    algorithm: Algorithm,
    cost: number,
    headroom: number,
  ): PlainVerdict;
}
