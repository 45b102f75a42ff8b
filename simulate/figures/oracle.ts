import { TokenBucket } from '../../libs/rate-limit/src/algorithms/token-bucket.js';
import { exactRate } from '../../libs/rate-limit/src/algorithms/rate.js';

/** The limit of one key. */
export interface BucketLimit {
  readonly capacity: number;
  /** Tokens a second. */
  readonly refill: number;
}

/**
 * By how many requests the worst interval exceeds capacity + refill x t, over all intervals between admissions. 0 or less: the
 * promise holds.
 *
 * The arithmetic is in whole ticks, so an exact store has no rounding to hide behind.
 *
 * @param instants of the admissions: whole microseconds, in any order
 */
export function worstExcess(instants: readonly number[], { capacity, refill }: BucketLimit): number {
  const { tokens: p, microseconds: q } = exactRate(refill, capacity);
  let lowest = Infinity;
  let highest = -Infinity;
  const sorted = Float64Array.from(instants).toSorted();
  for (const [i, at] of sorted.entries()) {
    // The interval that begins here has counted i admissions before it.
    lowest = Math.min(lowest, i * q - at * p);
    highest = Math.max(highest, (i + 1) * q - at * p - lowest);
  }
  return sorted.length === 0 ? 0 : highest / q - capacity;
}

/** What one exact Redis without latency would have admitted of the same arrivals. */
export class IdealStore {
  private readonly bucket: TokenBucket;
  private readonly states = new Map<string, ReturnType<TokenBucket['write']>>();
  private readonly instants: number[] = [];

  constructor({ capacity, refill }: BucketLimit) {
    this.bucket = new TokenBucket(capacity, exactRate(refill, capacity));
  }

  /** Admissions so far. */
  get admitted(): number {
    return this.instants.length;
  }

  /** Admissions from one instant until before another. */
  admittedIn(from: number, to: number): number {
    return this.instants.reduce((count, at) => count + Number(at >= from && at < to), 0);
  }

  /** @param at whole microseconds; never before the last arrival */
  arrive(key: string, at: number): void {
    const { bucket, states } = this;
    const state = states.get(key);
    const debt = bucket.read(state, at, 0);
    if (!bucket.fits(debt, 1)) return;
    states.set(key, bucket.write(bucket.charge(debt, 1), at, state));
    this.instants.push(at);
  }
}
