import type { Instant } from '../bucket/bucket.js';
import type { TokenBucket } from './token-bucket.js';
import { carriedTail, countRefund, refundedBy, refundedSince, totalWith } from '../core/refund-history.js';
import type { ChargeMark, Refunds, RefundMarkers } from '../core/refunds.js';

/** Refunds ticks: the refill may have paid off a part of a token. Later refunds depend on the total of those before. */
export class TokenBucketRefunds implements Refunds<number, Instant> {
  readonly unit: number;
  readonly markers: RefundMarkers<number, Instant>;

  constructor(private readonly bucket: TokenBucket) {
    this.unit = bucket.ticksPerToken;
    this.markers = new TokenBucketRefundMarkers(bucket);
  }

  refund(state: Instant, now: number, cost: number, charge: ChargeMark): number {
    const { bucket } = this;
    const debt = Math.max(0, bucket.debt(state, now));
    const refunded = Math.min(debt, this.returnable(state, now, cost, charge));
    if (refunded <= 0) return 0;
    bucket.write(debt - refunded, now, state);
    state.tail ??= carriedTail(undefined, now, 0);
    countRefund(state.tail, refunded, now + bucket.longestDebt);
    return refunded;
  }

  without(debt: number, charges: readonly ChargeMark[], now: number, [refunded = 0]: readonly number[] = []): number {
    let [left, total] = [debt, refunded];
    for (const charge of charges.toReversed()) {
      const returned = Math.min(left, this.owedWithout(total, now, charge.cost, charge));
      if (returned <= 0) continue;
      left -= returned;
      total = totalWith(total, returned);
    }
    return left;
  }

  /** The ticks that a refund may take off the debt; 0 or less: none. */
  protected returnable({ tail }: Instant, now: number, cost: number, charge: ChargeMark): number {
    return this.owedWithout(refundedBy(tail, now), now, cost, charge);
  }

  /**
   * The part of `cost` that the bucket would still owe without it. A larger refund would admit too much: without that cost the
   * bucket might have been full for a while, and a full bucket gains nothing.
   *
   * Let d be the debt before the charge, a the cost that stays, k the refunded one, e the time since, and A and R what others
   * were charged and refunded since, all in ticks. Without k the debt would be x = d + a + A - R - e, reflected at 0: it lies
   * k - S below the real one, where S = max(0, highest of -x) is what would have flowed over by now. Only what was charged is
   * refunded, so d + A - R >= max(0, d - R), and S <= max(0, e - a - max(0, d - R)). The refund is k less that.
   *
   * R is why the state counts its refunds: without it, a refund of an earlier charge would let d count twice. A state that began
   * anew since the charge has owed nothing in between.
   *
   * @param refunded the ticks that were refunded until now, in total
   */
  private owedWithout(refunded: number, now: number, cost: number, charge: ChargeMark): number {
    const { ticksPerMicrosecond: p, ticksPerToken: q } = this.bucket;
    // Without a refund marker the debt before is known from `resetAt`, which is rounded up.
    const known = Math.max(0, (charge.resetAt - charge.at) * p - (p - 1) - charge.cost * q);
    const [before, total] = (charge.refundMarker ?? [known, 0]) as [number, number];
    const since = refundedSince(total, refunded);
    if (since === undefined) return 0;
    const passed = Math.max(0, now - charge.at) * p;
    return cost * q - Math.max(0, passed - (charge.cost - cost) * q - Math.max(0, before - since));
  }
}

/** The debt before the charge, and the total of refunded ticks at that time. */
class TokenBucketRefundMarkers implements RefundMarkers<number, Instant> {
  readonly length = 1;

  constructor(private readonly bucket: TokenBucket) {}

  read(state: Instant | undefined, now: number): readonly number[] {
    return [refundedBy(state?.tail, now)];
  }

  of(debt: number, numbers: readonly number[] = [0]): readonly number[] {
    return [debt, numbers[0] ?? 0];
  }

  hold(state: Instant | undefined, now: number): void {
    const tail = state?.tail;
    if (tail !== undefined && tail.refunded > 0) tail.keep = Math.max(tail.keep, now + this.bucket.longestDebt);
  }
}
