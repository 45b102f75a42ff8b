import type { LoggedReservation } from '../../stores/reservation-log.js';
import { RateLimitStoreError } from '../../stores/store.js';
import { type Answer, andThen } from '../../util/answer.js';
import { isPromise } from '../../util/is-promise.js';
import type { Receipt } from '../../charges/judgement.js';
import { ReservedCharges } from '../settlements/reserved-charges.js';
import type { Settlement, Settler } from '../settlements/reservation.js';
import type { ChargeSettler } from '../settlements/settling.js';
import type { Due, DueQueue } from './due-queue.js';

/** Rejects where an answer is late. */
export type Within = <T>(answer: Promise<T>) => Promise<T>;

/**
 * The charges of one reservation that expires. Its caller, its expiry or another process settles them, and only one of these does.
 */
export class ExpiringCharges implements Settler, ChargeSettler, Due {
  private readonly reserved: ReservedCharges;
  /** Whether this process settles them at their expiry: there was room for them. */
  readonly isTimed: boolean;
  /** What the expiry has done; undefined before it. */
  private expiry: Answer<Settlement> | undefined;

  /**
   * @param receipts at least one
   * @param finalCosts those of the receipts at the expiry, none larger than its charge
   * @param logged undefined: no other process can settle them
   * @param within keeps the deadline of settlements
   * @param underWay where claims are until their charges are settled: the end of the process waits for them
   */
  constructor(
    receipts: readonly Receipt[],
    private readonly finalCosts: readonly number[],
    readonly dueAtMs: number,
    private readonly queue: DueQueue,
    private readonly logged: LoggedReservation | undefined,
    private readonly within: Within,
    private readonly underWay: Set<unknown>,
  ) {
    this.reserved = new ReservedCharges(receipts);
    this.isTimed = queue.add(this);
  }

  /** Whether another process can settle them. */
  get isLogged(): boolean {
    return this.logged !== undefined;
  }

  /** Whether the expiry refunds something. */
  get refunds(): boolean {
    return this.reserved.receipts.some(({ proof }, i) => proof.cost > this.finalCosts[i]!);
  }

  get receipts(): readonly Receipt[] {
    return this.reserved.receipts;
  }

  check(finalCosts: readonly number[]): void {
    this.reserved.check(finalCosts);
  }

  /** Settles a single charge. */
  settleOrKeep(finalCost: number, failed: (error: unknown) => void): Answer<Settlement> {
    const finalCosts = [finalCost];
    try {
      this.check(finalCosts);
    } catch (error) {
      failed(error);
      return this.settle(this.charged);
    }
    return this.settle(finalCosts);
  }

  settle(finalCosts: readonly number[]): Answer<Settlement> {
    const answer = this.settleOnce(finalCosts);
    if (!isPromise(answer)) return answer;
    // A settlement that is late is still made once the log and the store answer.
    return this.within(answer).catch((error: unknown) => this.failed(this.reserved.unsettled(), error));
  }

  private settleOnce(finalCosts: readonly number[]): Answer<Settlement> {
    const { queue } = this;
    queue.remove(this);
    // A busy event loop may run the settlement before the timer.
    if (this.expiry === undefined && queue.nowMs() >= this.dueAtMs) this.expire();
    const late = (): Promise<Settlement> => this.settleLate(finalCosts);
    return this.expiry === undefined ? this.settleClaimed(finalCosts, late) : andThen(this.expiry, late);
  }

  expire(): void {
    this.expiry = this.settleClaimed(this.finalCosts, () => this.reserved.unsettled());
  }

  /** Settles unless another process does. Never rejects. @param taken the answer if another process does */
  private settleClaimed(costs: readonly number[], taken: () => Answer<Settlement>): Answer<Settlement> {
    const { reserved, logged } = this;
    if (logged === undefined) return reserved.settle(costs);
    const settled = logged.claim().then(
      (claim) => {
        if (claim === 'own') return reserved.settle(costs);
        reserved.close();
        if (claim === 'taken') return taken();
        const error = new RateLimitStoreError('it is not known whether another process refunds the reservation');
        return andThen(this.chargeBeyond(this.charged, costs), (settlement) => this.failed(settlement, error));
      },
      (error: unknown) => {
        reserved.close();
        return this.failed(reserved.unsettled(), error);
      },
    );
    this.underWay.add(settled);
    return settled.finally(() => this.underWay.delete(settled));
  }

  /** Charges the difference if the final cost is higher than the cost at expiry. Refunds nothing. */
  private async settleLate(costs: readonly number[]): Promise<Settlement> {
    return { ...(await this.chargeBeyond(this.finalCosts, costs)), expired: true };
  }

  /** @param standing the costs that the store has for the charges, or will have */
  private chargeBeyond(standing: readonly number[], costs: readonly number[]): Answer<Settlement> {
    const { receipts } = this.reserved;
    const late = new ReservedCharges(
      receipts.map((receipt, i) => ({ ...receipt, proof: { ...receipt.proof, cost: standing[i]! } })),
    );
    const larger = standing.map((cost, i) => Math.max(cost, costs[i]!));
    try {
      late.check(larger);
    } catch {
      return late.settle(standing); // the store cannot charge more than was reserved
    }
    return late.settle(larger);
  }

  private get charged(): readonly number[] {
    return this.reserved.receipts.map(({ proof }) => proof.cost);
  }

  private failed(settlement: Settlement, error: unknown): Settlement {
    return { ...settlement, error: this.reserved.receipts[0]!.keeper.failure(error, 'settle') };
  }
}
