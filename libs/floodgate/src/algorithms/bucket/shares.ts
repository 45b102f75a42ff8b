import type { Bucket } from './bucket.js';
import { shareOfLimit, type Shares } from '../core/shares.js';
import { shareOfRate } from '../core/rate.js';

/** The shares of a bucket: a part of the capacity and of the rate. */
export class BucketShares implements Shares {
  constructor(
    private readonly whole: Bucket,
    readonly shardable: boolean,
  ) {}

  of(processes: number, atLeast: number): Bucket {
    const { whole } = this;
    if (processes === 1) return whole;
    const capacity = shareOfLimit(whole.limit, processes, atLeast);
    // A leaky bucket has a place more than its capacity: the departing request takes none.
    const places = Math.max(1, capacity + whole.maxCost - whole.limit);
    return whole.withRate(capacity, shareOfRate(whole.exactRate, processes, places));
  }
}
