import type { Algorithm } from '../../algorithms/algorithm.js';
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

  /** Made when it is asked for. */
  get charges(): readonly ChargeVerdict[] {
    return [this];
  }

  /** The verdict of a single charge as one object. */
  static of({ allowed, at, charges: [charge] }: Verdict): PlainVerdict {
    const { remaining, resetAfter, retryAfter, delay } = charge!;
    return new PlainVerdict(allowed, at, remaining, resetAfter, retryAfter, delay);
  }
}

/** Decides requests of one plain charge whose caller keeps the place of its state: one look at the state, and one decision. */
export interface PlainStore {
  /**
   * @param place where the caller keeps the entry of the charge's key, if it does
   * @param charge of which only the key may be read, and where the place is not known yet: other memory than the entry's is far
   * @param algorithm the charge's
   * @param cost the charge's
   */
  consumePlain(place: EntryHandle | undefined, charge: Charge, algorithm: Algorithm, cost: number): PlainVerdict;
}
