import type { Instant } from '../bucket.js';
import type { PrefetchBucket, PrefetchLevel, PrefetchState } from '../prefetch-bucket.js';
import type { TokenBucket } from '../token-bucket.js';
import type { ChargeMark, Refunds, Stamps } from './refunds.js';

/**
 * Refunds above the debt of the prefetched tokens: below that debt the bucket could never refill. Tokens that were prefetched since
 * raise both the debt and that floor, and those that ended lower the floor, so neither makes a refund too large.
 */
export class PrefetchBucketRefunds implements Refunds<PrefetchLevel, PrefetchState> {
  readonly unit: number;

  constructor(
    private readonly prefetched: PrefetchBucket,
    private readonly bucket: TokenBucket,
    readonly stamps: Stamps<PrefetchLevel, PrefetchState> = new PrefetchBucketStamps(prefetched, bucket),
  ) {
    this.unit = bucket.refunds.unit;
  }

  refund(state: PrefetchState, now: number, cost: number, charge: ChargeMark): number {
    const { prefetched, bucket } = this;
    const level = prefetched.read(state, now, Infinity);
    const above: Instant = { at: 0, ticks: 0 };
    if (state.tail !== undefined) above.tail = { ...state.tail };
    bucket.write(level.debt - prefetched.debtOfPrefetched(level), now, above);
    const refunded = bucket.refunds.refund(above, now, cost, withStamp(charge));
    if (refunded === 0) return 0;
    state.tail = above.tail!;
    prefetched.write({ ...level, debt: level.debt - refunded }, now, state);
    return refunded;
  }

  without(
    level: PrefetchLevel,
    charges: readonly ChargeMark[],
    now: number,
    stamp: readonly number[] | undefined,
  ): PrefetchLevel {
    const floor = this.prefetched.debtOfPrefetched(level);
    const above = this.bucket.refunds.without(level.debt - floor, charges.map(withStamp), now, stamp);
    return { ...level, debt: floor + above };
  }
}

class PrefetchBucketStamps implements Stamps<PrefetchLevel, PrefetchState> {
  readonly length = 1;

  constructor(
    private readonly prefetched: PrefetchBucket,
    private readonly bucket: TokenBucket,
  ) {}

  read(state: PrefetchState | undefined, now: number): readonly number[] {
    return this.bucket.refunds.stamps.read(state, now);
  }

  of(level: PrefetchLevel, numbers?: readonly number[]): readonly number[] {
    return this.bucket.refunds.stamps.of(level.debt - this.prefetched.debtOfPrefetched(level), numbers);
  }

  hold(state: PrefetchState | undefined, now: number): void {
    this.bucket.refunds.stamps.hold(state, now);
  }
}

/** The debt before a charge without a stamp is known, but not the part of the prefetched tokens in it. */
function withStamp(charge: ChargeMark): ChargeMark {
  return charge.stamp === undefined ? { ...charge, stamp: [0, 0] } : charge;
}
