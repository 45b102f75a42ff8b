import type { Instant } from '../bucket/bucket.js';
import type { LeakyBucket } from './leaky-bucket.js';
import type { ChargeMark, Refunds } from '../core/refunds.js';

/**
 * Refunds the last slots of a charge, but only if they are the last ones: the queue still ends right after them. Where a slot is
 * shorter than a microsecond, `resetAt` cannot tell which slots are the last.
 */
export class LeakyBucketRefunds implements Refunds<number, Instant> {
  readonly unit: number;

  constructor(private readonly bucket: LeakyBucket) {
    this.unit = bucket.ticksPerToken;
  }

  refund(state: Instant, now: number, cost: number, charge: ChargeMark): number {
    const debt = Math.max(0, this.bucket.debt(state, now));
    const refunded = this.lastSlots(debt, now, cost, charge);
    if (refunded > 0) this.bucket.write(debt - refunded, now, state);
    return refunded;
  }

  without(debt: number, charges: readonly ChargeMark[], now: number): number {
    let left = debt;
    for (const charge of charges.toReversed()) left -= this.lastSlots(left, now, charge.cost, charge);
    return left;
  }

  private lastSlots(debt: number, now: number, cost: number, { resetAt }: ChargeMark): number {
    const { ticksPerToken, ticksPerMicrosecond } = this.bucket;
    const isLast = debt > 0 && now + this.bucket.resetAfter(debt) === resetAt;
    return isLast && ticksPerToken >= ticksPerMicrosecond ? Math.min(debt, cost * ticksPerToken) : 0;
  }
}
