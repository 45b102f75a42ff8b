import type { ChargeSettlement, SettledCharge } from '../../stores/store.js';
import { reserves } from '../../stores/charge.js';
import { type Answer, attempt } from '../../util/answer.js';
import type { Receipt } from '../../charges/judgement.js';
import type { PolicySettlement, Settlement, SettledBy, Settler } from './reservation.js';

/**
 * The charges of one reservation. All of them were made in one place, and are settled there: in the store, or in this process.
 */
export class ReservedCharges implements Settler {
  readonly receipts: readonly Receipt[];

  /** @param receipts of a judgement: those of mode `'reserve'` are reserved */
  constructor(receipts: readonly Receipt[]) {
    this.receipts = receipts.every(isReserved) ? receipts : receipts.filter(isReserved);
  }

  check(finalCosts: readonly number[]): void {
    this.receipts[0]?.keeper.checkCosts(this.receipts, finalCosts);
  }

  settle(finalCosts: readonly number[]): Answer<Settlement> {
    // Neither `onStoreFailure: 'open'` nor an override that exempts a client charges anything.
    const keeper = this.receipts[0]?.keeper;
    if (keeper === undefined) return { settledBy: 'none', policies: [] };
    if (this.receipts.every(({ proof }, i) => proof.cost === finalCosts[i])) {
      this.close();
      return this.settlement(finalCosts, keeper.by, []);
    }
    return attempt<readonly (SettledCharge | undefined)[], Settlement>(
      () => keeper.settle(this.settlements(finalCosts)),
      (settled) => {
        this.close();
        for (const watch of keeper.watches) watch.settled(this.receipts, settled);
        return this.settlement(finalCosts, keeper.by, settled);
      },
      (error) => {
        this.close();
        return { ...this.settlement(finalCosts, 'none', []), error: keeper.failure(error, 'settle') };
      },
    );
  }

  /** Leaves the charges as they are: a rejection that they cause is certain from now on. */
  close(): void {
    for (const { keeper, charge, proof } of this.receipts) keeper.open.close(charge, proof);
  }

  /** The settlement of charges that stay as they are. */
  unsettled(): Settlement {
    return this.settlement(
      this.receipts.map(({ proof }) => proof.cost),
      'none',
      [],
    );
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
      const { refunded, charged } = done;
      const beyondOverdraft = Math.max(0, finalCosts[i]! - proof.cost) - charged;
      return { policy: policy.name, settledBy: by, refunded, charged, beyondOverdraft };
    });
    const [first] = policies;
    const alike = policies.every(({ settledBy }) => settledBy === first?.settledBy);
    return { settledBy: alike ? (first?.settledBy ?? 'none') : 'partly', policies };
  }
}

function isReserved({ charge }: Receipt): boolean {
  return reserves(charge);
}

/** The overdraft of a charge. A shard, or a local share of the limit, has a part of the policy's overdraft. */
function overdraftOf({ charge: { policy }, proof: { algorithm } }: Receipt): number {
  const part = Math.floor((policy.overdraft * algorithm.limit) / policy.algorithm.limit);
  return Math.min(algorithm === policy.algorithm ? policy.overdraft : part, algorithm.overdraft?.max ?? 0);
}
