import type { Algorithm } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import type { ChargeVerdict } from '../../libs/rate-limit/src/stores/store.js';
import { windowOf } from '../support/algorithm-of.js';
import { Fraction } from '../support/fraction.js';
import type { Answer } from './key-histories.js';

/** The oracles: they keep all admissions, and decide by the definition of each window. */
abstract class TextbookWindow {
  protected readonly window: number;
  protected readonly limit: number;
  protected readonly admissions: { readonly at: number; readonly cost: number }[] = [];

  constructor(algorithm: Algorithm) {
    this.window = windowOf(algorithm);
    this.limit = algorithm.limit;
  }

  take(at: number, cost: number): void {
    if (cost > 0) this.admissions.push({ at, cost });
  }

  /** Whether a request of `cost` would be allowed at `at` if no other request came before. */
  wouldAllow(at: number, cost: number): boolean {
    return Fraction.of(cost).atMost(this.free(at));
  }

  /** The free part of the limit at `at`, exactly. */
  abstract free(at: number): Fraction;

  /** Decides a request and returns the verdict, without `retryAfter` and `resetAfter`, which the tests check otherwise. */
  expected(at: number, cost: number): Pick<ChargeVerdict, 'allowed' | 'remaining' | 'delay'> {
    const allowed = this.wouldAllow(at, cost || 1);
    if (allowed) this.take(at, cost);
    const remaining = Math.max(0, Number(this.free(at).floor()));
    return { allowed, remaining, delay: 0 };
  }

  protected countBetween(from: number, end: number): number {
    let count = 0;
    for (const { at, cost } of this.admissions) if (at >= from && at < end) count += cost;
    return count;
  }

  protected startOf(at: number): number {
    return at - (at % this.window);
  }
}

export class TextbookFixedWindow extends TextbookWindow {
  free(at: number): Fraction {
    const start = this.startOf(at);
    return Fraction.of(this.limit - this.countBetween(start, start + this.window));
  }
}

export class TextbookCounter extends TextbookWindow {
  free(at: number): Fraction {
    const start = this.startOf(at);
    const current = this.countBetween(start, start + this.window);
    const previous = this.countBetween(start - this.window, start);
    const share = Fraction.of(start + this.window - at, this.window).times(Fraction.of(previous));
    return Fraction.of(this.limit - current).minus(share);
  }
}

export class TextbookLog extends TextbookWindow {
  free(at: number): Fraction {
    return Fraction.of(this.limit - this.countBetween(at - this.window + 1, at + 1));
  }
}

/** The fields of an answer that `expected` returns. */
export function decided({ allowed, remaining, delay }: Answer): Pick<ChargeVerdict, 'allowed' | 'remaining' | 'delay'> {
  return { allowed, remaining, delay };
}
