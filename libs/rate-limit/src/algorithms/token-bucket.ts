import { Bucket } from './bucket.js';
import { type ExactRate, shareOfRate } from './rate.js';
import { shareOfLimit } from './algorithm.js';
import { BucketShare } from './bucket-share.js';
import type { SharedTime } from './shared-time.js';

/**
 * Token bucket: `capacity` tokens at most, refilled at a constant rate; a request takes its cost or is refused. In any
 * interval of length t it admits at most capacity + refill x t.
 *
 * Kept as one instant, when the bucket is full again, which is the textbook's pair (tokens, last refill) seen from the other
 * side. Source: Turner, "New directions in communications (or which way to the information age?)", IEEE Communications
 * Magazine 24(10), 1986; RFC 2697 for the meter.
 */
export class TokenBucket extends Bucket {
  readonly name = 'token-bucket';
  readonly delays = false;

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
    return new BucketShare(new TokenBucket(capacity, this.exactRate), this.rate, false, time);
  }

  /**
   * What the charge still is of the debt: the refill pays it off from its instant on. More would be too much: where the bucket
   * would have been full by now without the charge, what was refilled since is lost to everybody.
   */
  protected returnable(debt: number, now: number, cost: number, at: number): number {
    const paidOff = Math.max(0, now - at) * this.ticksPerMicrosecond;
    return Math.min(debt, cost * this.ticksPerToken - paidOff);
  }

  delay(): number {
    return 0;
  }
}
