import type { Algorithm } from '../algorithms/algorithm.js';
import { type Charge, takes } from './charge.js';
import type { Verdict } from './store.js';

/** Proof of one charge that was made: what it took, where, and when. Instants are whole microseconds. */
export interface ChargeReceipt {
  readonly key: string;
  readonly algorithm: Algorithm;
  readonly cost: number;
  /** `at` of the verdict. */
  readonly at: number;
  /** `at` plus the verdict's `resetAfter`: the window, or the departure slot, that the charge went to. */
  readonly resetAt: number;
}

/** The receipts of a request that a store allowed; none for a peek. */
export function receiptsOf(charges: readonly Charge[], { at, charges: verdicts }: Verdict): ChargeReceipt[] {
  const receipts: ChargeReceipt[] = [];
  for (const [i, charge] of charges.entries()) {
    if (!takes(charge)) continue;
    const { key, algorithm, cost } = charge;
    receipts.push({ key, algorithm, cost, at, resetAt: at + verdicts[i]!.resetAfter });
  }
  return receipts;
}

/** What a request was charged, to be taken back when the request does not go on. */
export class Receipt {
  private refunded = false;

  /** @param send hands the receipts to the store, once at most */
  constructor(
    readonly charges: readonly ChargeReceipt[],
    private readonly send: (charges: readonly ChargeReceipt[]) => void,
  ) {}

  /** Takes the charges back: at most once, best effort, never beyond the limit. */
  refund(): void {
    if (this.refunded || this.charges.length === 0) return;
    this.refunded = true;
    this.send(this.charges);
  }
}
