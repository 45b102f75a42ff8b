import type {
  Charge,
  ChargeReceipt,
  ChargeSettlement,
  RateLimitStoreError,
  SettledCharge,
  Verdict,
} from '../stores/store.js';
import type { Answer } from '../util/answer.js';
import type { OpenCharges } from './settling/open-charges.js';

/** Where charges were made: in the store, or in this process while the store was unavailable. They end there as well. */
export interface ChargeKeeper {
  readonly by: 'store' | 'local';
  /** What this process has charged there, and has not settled. */
  readonly open: OpenCharges;
  /** Refunds without waiting. A refund that is lost stays charged. */
  refund(receipts: readonly ChargeReceipt[]): void;
  /** @throws {TypeError} when it cannot settle charges at these costs */
  checkCosts(receipts: readonly { readonly proof: ChargeReceipt }[], finalCosts: readonly number[]): void;
  /** Settles reservations. */
  settle(settlements: readonly ChargeSettlement[]): Answer<readonly (SettledCharge | undefined)[]>;
  /** Decides a renewal of a lease, which is no request. */
  renew(charges: readonly Charge[]): Answer<Verdict>;
  /**
   * A failure as one kind of error. At most one warning a second is logged.
   *
   * @param task what could not be done; default to decide
   */
  failure(thrown: unknown, task?: string): RateLimitStoreError;
}
