import type { Algorithm } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import { rateOf, windowOf } from '../support/algorithm-of.js';

/** A charge as it comes to in the end: its cost changes when it is settled. */
export interface ModelCharge {
  readonly at: number;
  cost: number;
}

/** What a peek shows of a key. */
export interface Seen {
  readonly remaining: number;
  readonly resetAfter: number;
}

/**
 * The counterfactual of one key: it holds every charge, and counts all of them anew at each question, each at the cost that it has
 * come to by now. It knows nothing of refunds. Its clock does not step back.
 */
export class Counterfactual {
  readonly charges: ModelCharge[] = [];

  constructor(private readonly algorithm: Algorithm) {}

  charge(at: number, cost: number): ModelCharge {
    const charge = { at, cost };
    if (cost > 0) this.charges.push(charge);
    return charge;
  }

  /** Whether a cost fits. */
  fits(now: number, cost: number): boolean {
    const { name, limit, maxCost, delays } = this.algorithm;
    if (name.endsWith('bucket')) {
      const { microseconds } = rateOf(this.algorithm);
      return this.debt(now) + BigInt(cost) * microseconds <= BigInt(delays ? maxCost : limit) * microseconds;
    }
    return cost <= maxCost && this.count(now) + cost <= limit;
  }

  seen(now: number): Seen {
    const { name, limit, maxCost } = this.algorithm;
    if (!name.endsWith('bucket')) return { remaining: Math.max(0, limit - this.count(now)), resetAfter: 0 };
    const { tokens, microseconds } = rateOf(this.algorithm);
    const debt = this.debt(now);
    const room = BigInt(maxCost) * microseconds - debt;
    const remaining = room < 0n ? 0 : Math.min(limit, Number(room / microseconds));
    return { remaining, resetAfter: Number((debt + tokens - 1n) / tokens) };
  }

  /** The debt of a bucket in ticks. */
  private debt(now: number): bigint {
    const { tokens, microseconds } = rateOf(this.algorithm);
    let [debt, last] = [0n, 0];
    const passTo = (at: number): void => {
      const left = debt - BigInt(at - last) * tokens;
      [debt, last] = [left < 0n ? 0n : left, at];
    };
    for (const { at, cost } of this.charges) {
      passTo(at);
      debt += BigInt(cost) * microseconds;
    }
    passTo(now);
    return debt;
  }

  /** What counts against the limit of a window. */
  private count(now: number): number {
    const window = windowOf(this.algorithm);
    const sum = (from: number, to: number): number =>
      this.charges.filter(({ at }) => at >= from && at < to).reduce((total, { cost }) => total + cost, 0);
    const start = now - (now % window);
    switch (this.algorithm.name) {
      case 'sliding-window-log':
      case 'concurrency': // a log whose window is the lease
        return sum(now - window + 1, Infinity);
      case 'sliding-window-counter': {
        const weighted = BigInt(sum(start - window, start)) * BigInt(start + window - now);
        return sum(start, Infinity) + Number((weighted + BigInt(window) - 1n) / BigInt(window));
      }
      default:
        return sum(start, Infinity);
    }
  }
}
