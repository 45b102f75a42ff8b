import { perSecond } from '../../lab/textbook/arithmetic.js';
import { TextbookTokenBucket } from '../../lab/textbook/textbook.js';
import type { Limit } from '../pods/engine.js';

/** What one exact Redis without latency would have admitted of the same arrivals, by the textbook. */
export class IdealStore {
  private readonly buckets = new Map<string, TextbookTokenBucket>();
  private readonly instants: number[] = [];

  constructor(private readonly limit: Pick<Limit, 'capacity' | 'refill'>) {}

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
    const { capacity, refill } = this.limit;
    let bucket = this.buckets.get(key);
    if (bucket === undefined) this.buckets.set(key, (bucket = new TextbookTokenBucket(capacity, perSecond(refill))));
    if (bucket.ask(at).allowed) this.instants.push(at);
  }
}
