import { fits } from './charge.js';
import type { Found } from './judge.js';
import type { ChargeReceipt, ChargeShortfall } from './store.js';

/** What a rejected charge lacked, by the level that rejected it. */
class Shortfall implements ChargeShortfall {
  // Private by the language: tests compare verdicts, and levels of two stores differ in what they keep.
  readonly #found: Found;
  readonly #level: unknown;
  readonly #at: number;

  constructor(found: Found, at: number) {
    this.#found = found;
    this.#level = found.level;
    this.#at = at;
  }

  fitsWithout(open: readonly ChargeReceipt[]): boolean {
    const { charge, refundMarker } = this.#found;
    const { algorithm, key } = charge;
    // The receipts of a sharded policy are of all its shards.
    const own = open.filter((receipt) => receipt.key === key);
    if (own.length === 0 || algorithm.refunds === undefined) return false;
    return fits(charge, algorithm.refunds.without(this.#level, own, this.#at, refundMarker));
  }
}

/** The shortfall of a charge that did not fit its level; undefined where its algorithm knows nothing of it. */
export function shortfallOf(found: Found, at: number): ChargeShortfall | undefined {
  return found.charge.algorithm.refunds === undefined ? undefined : new Shortfall(found, at);
}

/** The shortfall of a charge that any of several states could have taken. */
export function shortfallOfAny(shortfalls: readonly (ChargeShortfall | undefined)[]): ChargeShortfall | undefined {
  const known = shortfalls.filter((one) => one !== undefined);
  if (known.length < 2) return known[0];
  return { fitsWithout: (open) => known.some((one) => one.fitsWithout(open)) };
}
