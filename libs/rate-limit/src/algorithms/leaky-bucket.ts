import { Bucket } from './bucket.js';
import { type ExactRate, shareOfRate } from './rate.js';
import { shareOfLimit } from './algorithm.js';
import { BucketShare } from './bucket-share.js';
import type { SharedTime } from './shared-time.js';

/**
 * Leaky bucket as a queue: requests depart exactly 1/drain apart (n/drain after one of cost n), and up to `capacity` of them
 * wait for their slot. Kept as one instant: the next free departure slot.
 *
 * A request of cost n needs wait + (n - 1)/drain <= capacity/drain, which is a debt that must not exceed capacity + 1 places:
 * the one that departs takes no waiting place. Source: Tanenbaum, "Computer Networks", on traffic shaping.
 */
export class LeakyBucket extends Bucket {
  readonly name = 'leaky-bucket';
  readonly delays = true;

  constructor(capacity: number, drain: ExactRate) {
    super(capacity, capacity + 1, drain);
  }

  share(processes: number, atLeast: number): LeakyBucket {
    if (processes === 1) return this;
    const capacity = shareOfLimit(this.limit, processes, atLeast);
    return new LeakyBucket(capacity, shareOfRate(this.exactRate, processes, capacity + 1));
  }

  localShare(time: SharedTime, atLeast: number): BucketShare {
    const capacity = shareOfLimit(this.limit, time.processes, atLeast);
    return new BucketShare(new LeakyBucket(capacity, this.exactRate), this.rate, true, time);
  }

  /**
   * Its slots, if nobody stands behind them: the next free slot is still the one after them. (Where a slot is shorter than the
   * microseconds in which that is said, there is no telling.)
   */
  protected returnable(debt: number, now: number, cost: number, _at: number, resetAt: number): number {
    const isLast = debt > 0 && now + this.resetAfter(debt) === resetAt;
    return isLast && this.ticksPerToken >= this.ticksPerMicrosecond ? Math.min(debt, cost * this.ticksPerToken) : 0;
  }

  /** Until the request's departure slot, rounded up: nobody passes before it. */
  delay(wait: number): number {
    return Math.ceil(wait / this.ticksPerMicrosecond);
  }
}
