import type { PolicyCharge } from '../../charges/policy-charge.js';
import type { Receipt } from '../../charges/judgement.js';
import { type CallCost, costsByName, isByName, type NamedPolicy } from '../../charges/cost-by-name.js';
import type { Decision } from '../../policy/decision.js';
import type { RateLimitStoreError } from '../../stores/store.js';
import type { Answer } from '../../util/answer.js';
import { RateLimitConfigError, shown } from '../../util/config-error.js';
import { ReservationClosedError } from '../../charges/errors.js';

const WHERE = 'Reservation.settle';

/** What settled a charge: `'local'` is this process, which decided while the store was unavailable. */
export type SettledBy = 'store' | 'local' | 'none';

/** How one policy's charge was settled. */
export interface PolicySettlement {
  /** The policy's name. */
  readonly policy: string;
  /** `'none'`: the charge stays, or the store gave no answer in time, so that it is unknown whether the store settled it. */
  readonly settledBy: SettledBy;
  /**
   * The cost that was refunded, at most what was reserved beyond the final cost: the refill may have paid off a part, or the
   * window may have ended. For a bucket it need not be a whole number. Null: a store without `settle` does not say.
   */
  readonly refunded: number | null;
  /** The cost that was charged in addition to the reserved cost. */
  readonly charged: number;
  /** The rest of the final cost, which the policy's `overdraft` did not let the store charge. */
  readonly beyondOverdraft: number;
}

/** How a reservation was settled. */
export interface Settlement {
  /** What settled every policy; `'partly'`: on a Redis Cluster one node settled, and another one did not. */
  readonly settledBy: SettledBy | 'partly';
  /** The settlements in the order of the policies; empty for a decision by `onStoreFailure: 'open'`. */
  readonly policies: readonly PolicySettlement[];
  /**
   * True: the reservation had expired before, at its cost at expiry. If the final cost was higher, the difference was charged.
   * Nothing was refunded.
   */
  readonly expired?: true;
  /** Why the store did not settle. */
  readonly error?: RateLimitStoreError;
}

/** Settles the charges of one reservation. */
export interface Settler {
  /** The receipts of the charges that were made. */
  readonly receipts: readonly Receipt[];
  /**
   * @param finalCosts of the charges, in the order of their receipts
   * @throws {RateLimitConfigError} when the store cannot settle at these costs; nothing changes
   */
  check(finalCosts: readonly number[]): void;
  /** Never rejects. @param finalCosts see `check` */
  settle(finalCosts: readonly number[]): Answer<Settlement>;
}

/**
 * A charge whose final cost is known later. It is charged when it is made, and stays charged if it is not settled, such as
 * when the process ends, unless it `expires`.
 *
 * Settle it once, by `settle` or `cancel`. Neither rejects because of the store: a settlement says whether the store made it.
 *
 * @example
 * ```ts
 * const reservation = await limiter.reserve('tokens', user, { cost: 2_000 });
 * if (!reservation.allowed) throw new TooManyTokens(reservation.decision.retryAfterMs);
 * const { usage } = await model.answer(prompt);
 * await reservation.settle(usage.total);
 * ```
 */
export class Reservation {
  /** How it was settled; undefined while it is open. */
  #closed: string | undefined;
  readonly #settler: Settler;
  readonly #charges: readonly PolicyCharge[];

  /**
   * @internal `RateLimiter.reserve` makes it.
   *
   * @param charges that were decided on
   */
  constructor(
    readonly decision: Decision,
    settler: Settler,
    charges: readonly PolicyCharge[],
  ) {
    this.#settler = settler;
    this.#charges = charges;
    if (!decision.allowed) this.#closed = 'was rejected, so nothing was charged';
  }

  /** Whether the reservation was charged: false is a rejection, which needs no settlement. */
  get allowed(): boolean {
    return this.decision.allowed;
  }

  /**
   * Settles every policy's charge at its final cost. If it is less than the reserved cost, the difference is refunded, but
   * never so much that more requests pass than the limit allows. If it is more, the difference is charged now, whether it fits
   * or not, up to the policy's `overdraft`.
   *
   * After the reservation has expired, nothing is refunded: see `Settlement.expired`.
   *
   * @param finalCost a whole number from 0, for all policies; or an object of them by the policies' names, such as
   *   `{ tokens: 240 }`: the other policies keep what they were charged. That of a policy holds for its `else`, unless that is named itself
   * @throws {ReservationClosedError} when it was settled, cancelled or rejected before; nothing changes
   * @throws {RateLimitConfigError} when a cost is no whole number from 0 or names no policy of the reservation, or the store has no
   *   `settle` and would have to charge more; nothing changes, and the reservation stays open
   */
  async settle(finalCost: CallCost): Promise<Settlement> {
    return this.#settle(finalCost, 'settle', 'was settled before');
  }

  /** Refunds the whole reservation, as `settle(0)` does. */
  async cancel(): Promise<Settlement> {
    return this.#settle(0, 'cancel', 'was cancelled before');
  }

  #settle(finalCost: CallCost, call: 'settle' | 'cancel', closed: string): Answer<Settlement> {
    if (this.#closed !== undefined) {
      const called = call === 'settle' ? `settle(${shown(finalCost)})` : 'cancel()';
      throw new ReservationClosedError(`${called}: the reservation ${this.#closed}`);
    }
    const finalCosts = this.#costsOf(finalCost);
    this.#settler.check(finalCosts);
    this.#closed = closed;
    return this.#settler.settle(finalCosts);
  }

  /** The final cost of each charge. */
  #costsOf(finalCost: CallCost): readonly number[] {
    const { receipts } = this.#settler;
    if (isByName(finalCost)) {
      const costs = costsByName(finalCost, this.#charges.map(asNamed), WHERE, 'final cost');
      return receipts.map(({ charge, proof }) => costs.get(charge.policy.name) ?? proof.cost);
    }
    if (Number.isSafeInteger(finalCost) && finalCost >= 0) return receipts.map(() => finalCost);
    throw new RateLimitConfigError(
      WHERE,
      `the final cost of a reservation must be a whole number from 0, got ${shown(finalCost)}`,
    );
  }
}

/** The policy that a call has named, with its `else`. */
function asNamed({ policy, insteadOf }: PolicyCharge): NamedPolicy {
  return insteadOf === undefined ? policy : { name: insteadOf, else: policy };
}
