import { type Algorithm, type ChargeMark, shareOfLimit } from './algorithm.js';
import { BucketShare } from './bucket-share.js';
import { refundedBy, refundedSince } from './bucket-tail.js';
import { Bucket, type Instant } from './bucket.js';
import { LeasedBucket } from './leased-bucket.js';
import { type AlgorithmDefinition, MAX_COUNT, type OptionReader, readRate } from './options.js';
import { type ExactRate, shareOfRate } from './rate.js';
import type { SharedTime } from './shared-time.js';

/** `{ algorithm: 'token-bucket', capacity, refill }` */
export const TOKEN_BUCKET = {
  name: 'token-bucket',
  options: ['capacity', 'refill'],
  create: (options: OptionReader): Algorithm => {
    const capacity = options.whole('capacity', MAX_COUNT);
    return new TokenBucket(capacity, readRate(options, 'refill', capacity));
  },
  lend: (bucket, length): Algorithm => new LeasedBucket(bucket as TokenBucket, length),
} as const satisfies AlgorithmDefinition;

/**
 * Token bucket: holds up to `capacity` tokens and refills at a constant rate. A request takes its cost or is rejected. In any
 * interval of length t the bucket admits at most capacity + refill x t.
 *
 * The state is one instant, at which the bucket is full again. It is equivalent to the textbook's pair (tokens, last refill).
 * Source: Turner, "New directions in communications (or which way to the information age?)", IEEE Communications Magazine
 * 24(10), 1986; RFC 2697 for the meter.
 */
export class TokenBucket extends Bucket {
  readonly name = 'token-bucket';
  readonly code = 'tb';
  readonly delays = false;
  readonly shardable = true;
  readonly stampLength = 1;
  protected readonly countsRefunds = true;

  constructor(capacity: number, refill: ExactRate) {
    super(capacity, capacity, refill);
  }

  share(processes: number, atLeast: number): TokenBucket {
    if (processes === 1) return this;
    const capacity = shareOfLimit(this.limit, processes, atLeast);
    return new TokenBucket(capacity, shareOfRate(this.exactRate, processes, capacity));
  }

  localShare(time: SharedTime, atLeast: number): BucketShare {
    const capacity = shareOfLimit(this.limit, time.processes, atLeast);
    return new BucketShare(new TokenBucket(capacity, this.exactRate), this.rate, time);
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
   */
  protected returnable({ tail }: Instant, _: number, now: number, cost: number, charge: ChargeMark): number {
    const { ticksPerMicrosecond: p, ticksPerToken: q } = this;
    // Without a stamp the debt before is known from `resetAt`, which is rounded up.
    const known = Math.max(0, (charge.resetAt - charge.at) * p - (p - 1) - charge.cost * q);
    const [before, total] = (charge.stamp ?? [known, 0]) as [number, number];
    const since = refundedSince(total, refundedBy(tail, now));
    if (since === undefined) return 0;
    const passed = Math.max(0, now - charge.at) * p;
    return cost * q - Math.max(0, passed - (charge.cost - cost) * q - Math.max(0, before - since));
  }

  readStamp(state: Instant | undefined, now: number): readonly number[] {
    return [refundedBy(state?.tail, now)];
  }

  stamp(debt: number, numbers: readonly number[] = [0]): readonly number[] {
    return [debt, ...numbers];
  }

  hold(state: Instant | undefined, now: number): void {
    const tail = state?.tail;
    if (tail !== undefined && tail.refunded > 0) tail.keep = Math.max(tail.keep, now + this.longestDebt);
  }

  delay(): number {
    return 0;
  }
}
