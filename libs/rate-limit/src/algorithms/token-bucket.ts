import { type Algorithm, shareOfLimit } from './algorithm.js';
import { BucketShare } from './bucket-share.js';
import { Bucket } from './bucket.js';
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
   * The part of the charge that the refill has not paid off since `at`. A larger refund would admit too much: without the
   * charge the bucket might have been full by now, and a full bucket gains nothing.
   */
  protected returnable(debt: number, now: number, cost: number, at: number): number {
    const paidOff = Math.max(0, now - at) * this.ticksPerMicrosecond;
    return Math.min(debt, cost * this.ticksPerToken - paidOff);
  }

  delay(): number {
    return 0;
  }
}
