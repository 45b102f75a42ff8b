import type {
  Charge,
  ChargeReceipt,
  ChargeSettlement,
  RateLimitStoreError,
  SettledCharge,
  Verdict,
} from '../stores/store.js';
import type { Answer } from '../util/answer.js';
import type { Receipt } from './judgement.js';
import type { LayerVerdict } from './layer-verdict.js';
import type { PolicyCharge } from './policy-charge.js';

/** What looks at charges that were made. */
export interface ChargeWatch {
  /** Looks at the charges of an allowed request. */
  decided(charges: readonly PolicyCharge[], verdict: LayerVerdict, keeper: ChargeKeeper): void;
  /** Looks at settled reservations. */
  settled(receipts: readonly Receipt[], settled: readonly (SettledCharge | undefined)[]): void;
  /** Resolves when all that was seen is told. */
  close(): Promise<void>;
}

/**
 * The maker of charges: the store, or this process while the store was unavailable. It settles and refunds them, too.
 */
export interface ChargeKeeper {
  readonly by: 'store' | 'local';
  /** The charges that this process has made there and has not settled. */
  readonly open: { close(charge: Charge, receipt: ChargeReceipt): void };
  readonly watches: readonly ChargeWatch[];
  /** Refunds without waiting. A refund that is lost stays charged. */
  refund(receipts: readonly ChargeReceipt[]): void;
  /** @throws {RateLimitConfigError} when it cannot settle charges at these costs */
  checkCosts(receipts: readonly { readonly proof: ChargeReceipt }[], finalCosts: readonly number[]): void;
  /** Settles reservations. */
  settle(settlements: readonly ChargeSettlement[]): Answer<readonly (SettledCharge | undefined)[]>;
  /**
   * Decides what no request waits for: the renewal of a lease, a mark of a threshold. It does not count as a request, and its
   * answer counts however late it comes.
   */
  decidePatiently(charges: readonly Charge[]): Answer<Verdict>;
  /**
   * Converts a failure to a `RateLimitStoreError`. Logs at most one warning a second.
   *
   * @param task what failed, for the message; default `'decide'`
   */
  failure(thrown: unknown, task?: string): RateLimitStoreError;
}
