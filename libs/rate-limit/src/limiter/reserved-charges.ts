import type { Decision } from '../policy/decision.js';
import type { ChargeReceipt, ChargeSettlement, SettledCharge } from '../stores/store.js';
import { reserves } from '../stores/charge.js';
import { reservedBy } from './charged-decision.js';
import type { Fallback } from './fallback.js';
import type { PolicyCharge } from './policy-charge.js';
import type { PolicySettlement, Settlement, SettledBy, Settler } from './reservation.js';
import type { StoreGateway } from './store-gateway.js';

/** The charges of one reservation. They are settled where they were made: in the store, or in the fallback of this process. */
export class ReservedCharges implements Settler {
  private readonly decidedBy: Exclude<Decision['decidedBy'], 'lease'>;
  /** Those of mode `'reserve'`. */
  readonly charges: readonly PolicyCharge[];
  private readonly receipts: readonly ChargeReceipt[];

  constructor(
    decision: Decision,
    private readonly gateway: StoreGateway,
    private readonly fallback: Fallback,
  ) {
    // No lease pays a reservation.
    this.decidedBy = decision.decidedBy === 'lease' ? 'store' : decision.decidedBy;
    const { charges, receipts } = reservedBy(decision);
    this.charges = charges.filter(reserves);
    this.receipts = receipts.filter((_, i) => reserves(charges[i]!));
  }

  check(finalCost: number): void {
    this.checkEach(this.charges.map(() => finalCost));
  }

  settle(finalCost: number): Promise<Settlement> {
    return this.settleEach(this.charges.map(() => finalCost));
  }

  /**
   * @param finalCosts of the charges of mode `'reserve'`, in their order
   * @throws {TypeError} when the store cannot settle at these costs; nothing changes
   */
  checkEach(finalCosts: readonly number[]): void {
    if (this.decidedBy === 'store') this.gateway.checkSettlements(this.settlements(finalCosts));
  }

  /** Never rejects. @param finalCosts as of `checkEach` */
  async settleEach(finalCosts: readonly number[]): Promise<Settlement> {
    // Neither `onStoreFailure: 'open'` nor an override that exempts a client charges anything.
    if (this.decidedBy === 'open' || this.decidedBy === 'override') return { settledBy: 'none', policies: [] };
    const settlements = this.settlements(finalCosts);
    if (settlements.every(({ receipt, finalCost }) => receipt.cost === finalCost)) {
      return this.settlement(finalCosts, this.decidedBy, []);
    }
    if (this.decidedBy === 'local') return this.settlement(finalCosts, 'local', this.fallback.settle(settlements));
    try {
      const settled = await this.gateway.settle(settlements);
      return this.settlement(finalCosts, 'store', settled);
    } catch (error) {
      return { ...this.settlement(finalCosts, 'none', []), error: this.gateway.failure(error, 'settle') };
    }
  }

  private settlements(finalCosts: readonly number[]): ChargeSettlement[] {
    return this.receipts.map((receipt, i) => ({
      receipt,
      finalCost: finalCosts[i]!,
      overdraft: overdraftOf(this.charges[i]!, receipt),
    }));
  }

  /** @param settled what the store did; nothing where nothing had to be done */
  private settlement(
    finalCosts: readonly number[],
    by: SettledBy,
    settled: readonly (SettledCharge | undefined)[],
  ): Settlement {
    const policies = this.charges.map(({ policy }, i): PolicySettlement => {
      const done = settled.length === 0 ? { refunded: 0, charged: 0 } : settled[i];
      if (done === undefined || by === 'none') {
        return { policy: policy.name, settledBy: 'none', refunded: 0, charged: 0, beyondOverdraft: 0 };
      }
      const more = Math.max(0, finalCosts[i]! - this.receipts[i]!.cost);
      return { policy: policy.name, settledBy: by, ...done, beyondOverdraft: more - done.charged };
    });
    const [first] = policies;
    const alike = policies.every(({ settledBy }) => settledBy === first?.settledBy);
    return { settledBy: alike ? (first?.settledBy ?? 'none') : 'partly', policies };
  }
}

/** The overdraft of a charge. A shard, or this process's share of the limit, has its part of the policy's. */
function overdraftOf({ policy }: PolicyCharge, { algorithm }: ChargeReceipt): number {
  const part = Math.floor((policy.overdraft * algorithm.limit) / policy.algorithm.limit);
  return Math.min(algorithm === policy.algorithm ? policy.overdraft : part, algorithm.maxOverdraft ?? 0);
}
