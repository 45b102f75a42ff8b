import { type Algorithm, type ChargeMark, shareOfLimit } from './algorithm.js';
import { BucketShare } from './bucket-share.js';
import { Bucket, type Instant } from './bucket.js';
import { type AlgorithmDefinition, MAX_COUNT, type OptionReader, readRate } from './options.js';
import { type ExactRate, shareOfRate } from './rate.js';
import type { SharedTime } from './shared-time.js';

/** `{ algorithm: 'leaky-bucket', capacity, drain }` */
export const LEAKY_BUCKET = {
  name: 'leaky-bucket',
  options: ['capacity', 'drain'],
  create: (options: OptionReader): Algorithm => {
    const capacity = options.whole('capacity', MAX_COUNT);
    return new LeakyBucket(capacity, readRate(options, 'drain', capacity + 1));
  },
  whyNotLent: 'each request waits for a departure slot of its own, which only the store can give',
} as const satisfies AlgorithmDefinition;

/**
 * Leaky bucket as a queue: requests depart 1/drain apart (n/drain after a request of cost n), and up to `capacity` of them wait
 * for their slot. The state is one instant: the next free departure slot.
 *
 * A request of cost n needs wait + (n - 1)/drain <= capacity/drain. That is a debt of at most capacity + 1 places, because the
 * departing request takes no waiting place. Source: Tanenbaum, "Computer Networks", on traffic shaping.
 */
export class LeakyBucket extends Bucket {
  readonly name = 'leaky-bucket';
  readonly code = 'lb';
  readonly delays = true;
  /** Shards would be independent queues, whose slots could coincide. */
  readonly shardable = false;
  /** The last slot is the last one, whatever was refunded before. */
  protected readonly countsRefunds = false;

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
    return new BucketShare(new LeakyBucket(capacity, this.exactRate), this.rate, time);
  }

  /**
   * The last slots of the charge, but only if they are the last ones: the queue still ends right after them. Where a slot is shorter than
   * a microsecond, `resetAt` cannot tell which slots are the last.
   */
  protected returnable(_: Instant, debt: number, now: number, cost: number, { resetAt }: ChargeMark): number {
    const isLast = debt > 0 && now + this.resetAfter(debt) === resetAt;
    return isLast && this.ticksPerToken >= this.ticksPerMicrosecond ? Math.min(debt, cost * this.ticksPerToken) : 0;
  }

  /** Rounded up: no request passes before its slot. */
  delay(wait: number): number {
    return Math.ceil(wait / this.ticksPerMicrosecond);
  }
}
