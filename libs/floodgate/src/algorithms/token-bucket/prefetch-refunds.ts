import type { Instant } from '../bucket/bucket.js';
import type { PrefetchBucket, PrefetchLevel, PrefetchState } from './prefetch-bucket.js';
import type { TokenBucket } from './token-bucket.js';
import type { ChargeMark, Refunds, RefundMarkers } from '../core/refunds.js';

/**
 * Refunds above the debt of the prefetched tokens: below that debt the bucket could never refill. Tokens that were prefetched since
 * raise both the debt and that floor, and those that ended lower the floor, so neither makes a refund too large.
 */
export class PrefetchBucketRefunds implements Refunds<PrefetchLevel, PrefetchState> {
  readonly unit: number;

  constructor(
    private readonly prefetched: PrefetchBucket,
    private readonly bucket: TokenBucket,
    readonly markers: RefundMarkers<PrefetchLevel, PrefetchState> = new PrefetchBucketRefundMarkers(prefetched, bucket),
  ) {
    this.unit = bucket.refunds.unit;
  }

  refund(state: PrefetchState, now: number, cost: number, charge: ChargeMark): number {
    const { prefetched, bucket } = this;
    const level = prefetched.read(state, now, Infinity);
    const above: Instant = { at: 0, ticks: 0 };
    if (state.tail !== undefined) above.tail = { ...state.tail };
    bucket.write(level.debt - prefetched.debtOfPrefetched(level), now, above);
    const refunded = bucket.refunds.refund(above, now, cost, withMarker(charge));
    if (refunded === 0) return 0;
    state.tail = above.tail!;
    prefetched.write({ ...level, debt: level.debt - refunded }, now, state);
    return refunded;
  }

  without(
    level: PrefetchLevel,
    charges: readonly ChargeMark[],
    now: number,
    refundMarker: readonly number[] | undefined,
  ): PrefetchLevel {
    const floor = this.prefetched.debtOfPrefetched(level);
    const above = this.bucket.refunds.without(level.debt - floor, charges.map(withMarker), now, refundMarker);
    return { ...level, debt: floor + above };
  }
}

class PrefetchBucketRefundMarkers implements RefundMarkers<PrefetchLevel, PrefetchState> {
  readonly length = 1;

  constructor(
    private readonly prefetched: PrefetchBucket,
    private readonly bucket: TokenBucket,
  ) {}

  read(state: PrefetchState | undefined, now: number): readonly number[] {
    return this.bucket.refunds.markers.read(state, now);
  }

  of(level: PrefetchLevel, numbers?: readonly number[]): readonly number[] {
    return this.bucket.refunds.markers.of(level.debt - this.prefetched.debtOfPrefetched(level), numbers);
  }

  hold(state: PrefetchState | undefined, now: number): void {
    this.bucket.refunds.markers.hold(state, now);
  }
}

/** The debt before a charge without a refund marker is known, but not the part of the prefetched tokens in it. */
function withMarker(charge: ChargeMark): ChargeMark {
  return charge.refundMarker === undefined ? { ...charge, refundMarker: [0, 0] } : charge;
}
