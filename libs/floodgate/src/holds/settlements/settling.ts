import type { Receipt } from '../../charges/judgement.js';
import type { PolicyCharge } from '../../charges/policy-charge.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import type { Answer } from '../../util/answer.js';
import type { Reservation, Settlement } from './reservation.js';

/** Settles a charge at the end of its request, unless it is settled before. */
export interface ChargeSettler {
  /**
   * Leaves the charge as it is where the store cannot settle at this cost.
   *
   * @param failed is told why
   */
  settleOrKeep(finalCost: number, failed: (error: unknown) => void): Answer<Settlement>;
}

/** What settles reservations beside their callers and requests. */
export interface Settling {
  /** The options of `RateLimiter.reserve` that it reads. */
  readonly options: readonly string[];
  /**
   * Reserves as the options say; undefined where they do not ask for it.
   *
   * @throws {RateLimitConfigError} for a wrong option
   */
  reserve(charges: readonly PolicyCharge[], options: object, where: string): Answer<Reservation> | undefined;
  /** Settles the reserved charge of a request; undefined where nothing else does. */
  settlerOf(receipt: Receipt, policy: BoundPolicy): ChargeSettler | undefined;
}
