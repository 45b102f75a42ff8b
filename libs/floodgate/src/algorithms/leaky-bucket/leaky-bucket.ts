import type { Algorithm } from '../core/algorithm.js';
import { Bucket, bucketRateOf } from '../bucket/bucket.js';
import { BucketShares } from '../bucket/shares.js';
import { type AlgorithmDefinition, MAX_COUNT, type OptionReader, readRate } from '../core/options.js';
import type { ExactRate } from '../core/rate.js';
import { LeakyBucketRefunds } from './refunds.js';

/** `{ algorithm: 'leaky-bucket', capacity, drain }` */
export const LEAKY_BUCKET = {
  name: 'leaky-bucket',
  options: ['capacity', 'drain'],
  create: (options: OptionReader): Algorithm => {
    const capacity = options.whole('capacity', MAX_COUNT);
    return new LeakyBucket(capacity, readRate(options, 'drain', placesOf(capacity)));
  },
  ofRate: (limit, rate): Algorithm | undefined => {
    const drain = bucketRateOf(rate, placesOf(limit));
    return drain === undefined ? undefined : new LeakyBucket(limit, drain);
  },
  whyNoPrefetch: 'each request waits for a departure slot of its own, which only the store can give',
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
  readonly shares: BucketShares = new BucketShares(this, false);
  readonly refunds = new LeakyBucketRefunds(this);

  constructor(capacity: number, drain: ExactRate) {
    super(capacity, placesOf(capacity), 'leaky-bucket', drain);
  }

  withRate(capacity: number, drain: ExactRate): LeakyBucket {
    return new LeakyBucket(capacity, drain);
  }

  /** Rounded up: no request passes before its slot. */
  delay(wait: number): number {
    return Math.ceil(wait / this.ticksPerMicrosecond);
  }
}

/** The departing request takes no waiting place. A queue of capacity 0 rejects everything. */
function placesOf(capacity: number): number {
  return capacity === 0 ? 0 : capacity + 1;
}
