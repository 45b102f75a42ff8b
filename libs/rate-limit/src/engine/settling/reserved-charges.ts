import type { ChargeSettlement, SettledCharge } from '../../stores/store.js';
import { reserves } from '../../stores/charge.js';
import type { Receipt } from '../judgement.js';
import type { PolicySettlement, Settlement, SettledBy, Settler } from './reservation.js';

/** The charges of one reservation. They are settled where they were made: all of them in one place. */
export class ReservedCharges implements Settler {
  readonly receipts: readonly Receipt[];

  /** @param receipts of a judgement: those of mode `'reserve'` are reserved */
  constructor(receipts: readonly Receipt[]) {
    this.receipts = receipts.filter(({ charge }) => reserves(charge));
  }

  check(finalCost: number): void {
    this.checkEach(this.receipts.map(() => finalCost));
  }

  settle(finalCost: number): Promise<Settlement> {
    return this.settleEach(this.receipts.map(() => finalCost));
  }

  /**
   * @param finalCosts of the charges, in their order
   * @throws {TypeError} when the store cannot settle at these costs; nothing changes
   */
  checkEach(finalCosts: readonly number[]): void {
    this.receipts[0]?.keeper.checkSettlements(this.settlements(finalCosts));
  }

  /** Never rejects. @param finalCosts as of `checkEach` */
  async settleEach(finalCosts: readonly number[]): Promise<Settlement> {
    try {
      return await this.settleIn(finalCosts);
    } finally {
      this.close();
    }
  }

  /** Leaves the charges as they are: a rejection that they cause is certain from now on. */
  close(): void {
    for (const { keeper, charge, proof } of this.receipts) keeper.open.close(charge, proof);
  }

  private async settleIn(finalCosts: readonly number[]): Promise<Settlement> {
    // Neither `onStoreFailure: 'open'` nor an override that exempts a client charges anything.
    const keeper = this.receipts[0]?.keeper;
    if (keeper === undefined) return { settledBy: 'none', policies: [] };
    const settlements = this.settlements(finalCosts);
    if (settlements.every(({ receipt, finalCost }) => receipt.cost === finalCost)) {
      return this.settlement(finalCosts, keeper.by, []);
    }
    try {
      return this.settlement(finalCosts, keeper.by, await keeper.settle(settlements));
    } catch (error) {
      return { ...this.settlement(finalCosts, 'none', []), error: keeper.failure(error, 'settle') };
    }
  }

  private settlements(finalCosts: readonly number[]): ChargeSettlement[] {
    return this.receipts.map((receipt, i) => ({
      receipt: receipt.proof,
      finalCost: finalCosts[i]!,
      overdraft: overdraftOf(receipt),
    }));
  }

  /** @param settled what the store did; nothing where nothing had to be done */
  private settlement(
    finalCosts: readonly number[],
    by: SettledBy,
    settled: readonly (SettledCharge | undefined)[],
  ): Settlement {
    const policies = this.receipts.map(({ charge: { policy }, proof }, i): PolicySettlement => {
      const done = settled.length === 0 ? { refunded: 0, charged: 0 } : settled[i];
      if (done === undefined || by === 'none') {
        return { policy: policy.name, settledBy: 'none', refunded: 0, charged: 0, beyondOverdraft: 0 };
      }
      const more = Math.max(0, finalCosts[i]! - proof.cost);
      return { policy: policy.name, settledBy: by, ...done, beyondOverdraft: more - done.charged };
    });
    const [first] = policies;
    const alike = policies.every(({ settledBy }) => settledBy === first?.settledBy);
    return { settledBy: alike ? (first?.settledBy ?? 'none') : 'partly', policies };
  }
}

/** The overdraft of a charge. A shard, or this process's share of the limit, has its part of the policy's. */
function overdraftOf({ charge: { policy }, proof: { algorithm } }: Receipt): number {
  const part = Math.floor((policy.overdraft * algorithm.limit) / policy.algorithm.limit);
  return Math.min(algorithm === policy.algorithm ? policy.overdraft : part, algorithm.overdraft?.max ?? 0);
}
