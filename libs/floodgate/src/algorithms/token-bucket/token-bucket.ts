import type { Algorithm } from '../core/algorithm.js';
import { Bucket, bucketRateOf } from '../bucket/bucket.js';
import { BucketShares } from '../bucket/shares.js';
import { PrefetchBucket } from './prefetch-bucket.js';
import { type AlgorithmDefinition, MAX_COUNT, type OptionReader, readRate } from '../core/options.js';
import type { ExactRate } from '../core/rate.js';
import { TokenBucketRefunds } from './refunds.js';

/** `{ algorithm: 'token-bucket', capacity, refill }` */
export const TOKEN_BUCKET = {
  name: 'token-bucket',
  options: ['capacity', 'refill'],
  create: (options: OptionReader): Algorithm => {
    const capacity = options.whole('capacity', MAX_COUNT);
    return new TokenBucket(capacity, readRate(options, 'refill', capacity));
  },
  withPrefetch: (bucket, length): Algorithm => new PrefetchBucket(bucket as TokenBucket, length),
  ofRate: (limit, rate): Algorithm | undefined => {
    // The rate of a bucket with prefetch has the length of a prefetch at its end.
    const [, own = rate, length] = /^(.*@.*)@([1-9]\d{0,15})$/.exec(rate) ?? [];
    const refill = bucketRateOf(own, limit);
    if (refill === undefined) return undefined;
    const bucket = new TokenBucket(limit, refill);
    return length === undefined ? bucket : new PrefetchBucket(bucket, Number(length));
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
  readonly shares: BucketShares = new BucketShares(this, true);
  readonly refunds = new TokenBucketRefunds(this);

  constructor(capacity: number, refill: ExactRate) {
    super(capacity, capacity, 'token-bucket', refill);
  }

  withRate(capacity: number, refill: ExactRate): TokenBucket {
    return new TokenBucket(capacity, refill);
  }

  delay(): number {
    return 0;
  }
}
