import type { Algorithm } from '../algorithms/core/algorithm.js';
import { type Charge, reserves, takes } from './charge.js';
import type { Verdict } from './store.js';

/** Proof of one charge: what it took, where, and when. Instants are whole microseconds. */
export interface ChargeReceipt {
  readonly key: string;
  readonly algorithm: Algorithm;
  readonly cost: number;
  /** `at` of the verdict. */
  readonly at: number;
  /** `at` plus the verdict's `resetAfter`: identifies the window, or the departure slot, of the charge. */
  readonly resetAt: number;
  /** What the algorithm keeps of the state before a reservation: a refund without it may be smaller. */
  readonly refundMarker?: readonly number[] | undefined;
}

/** The final cost of a charge. */
export interface ChargeSettlement {
  /** The receipt of a charge of mode `'reserve'`. */
  readonly receipt: ChargeReceipt;
  /** What the charge should have cost: a whole number from 0. */
  readonly finalCost: number;
  /** The cost by which a larger final cost may exceed the limit: a whole number from 0. */
  readonly overdraft: number;
}

/** What a store did to settle a charge. */
export interface SettledCharge {
  /** The cost that the store refunded; a bucket may refund a part of a token. Null: unknown. */
  readonly refunded: number | null;
  /** The cost that the store charged in addition to the reserved cost: at most what the overdraft left. */
  readonly charged: number;
}

/** When a charge resets, which identifies it. A lease that is granted for less than others ends before the last of them. */
export function resetAtOf({ lasts }: Pick<Algorithm, 'lasts'>, at: number, resetAfter: number): number {
  return at + (lasts ?? resetAfter);
}

/** The receipts of a request that a store allowed. A peek has none. */
export function receiptsOf(charges: readonly Charge[], { at, charges: verdicts }: Verdict): ChargeReceipt[] {
  const receipts: ChargeReceipt[] = [];
  for (const [i, charge] of charges.entries()) {
    // A shadow that does not fit is not charged.
    if (!takes(charge) || !verdicts[i]!.allowed) continue;
    const { key, algorithm, cost } = charge;
    const { receipt, resetAfter } = verdicts[i]!;
    receipts.push(receipt ?? { key, algorithm, cost, at, resetAt: resetAtOf(algorithm, at, resetAfter) });
  }
  return receipts;
}

/**
 * The receipts of what must not stay with a request that was given up before the store allowed it: a lease, a reservation, a slot of a
 * queue. Nobody would end them. A plain charge stays: its request may have passed.
 */
export function abandonedBy(charges: readonly Charge[], verdict: Verdict): ChargeReceipt[] {
  if (!verdict.allowed) return [];
  const lasting = charges.filter(isLasting);
  return receiptsOf(charges, verdict).filter(({ key }) => lasting.some((charge) => charge.key === key));
}

/** Whether a charge must not stay with a request that was given up. */
export function isLasting(charge: Charge): boolean {
  return reserves(charge) || charge.algorithm.lease !== undefined || charge.algorithm.delays;
}

/** The charges of one request, which can be refunded once. */
export class RefundableRequest {
  private refunded = false;

  /** @param send hands the receipts to the store; called at most once */
  constructor(
    readonly charges: readonly ChargeReceipt[],
    private readonly send: (charges: readonly ChargeReceipt[]) => void,
  ) {}

  /** Refunds the charges: at most once, best effort, never beyond the limit. */
  refund(): void {
    if (this.refunded || this.charges.length === 0) return;
    this.refunded = true;
    this.send(this.charges);
  }
}
