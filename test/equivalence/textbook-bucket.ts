import type { Algorithm } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import { rateOf } from '../support/algorithm-of.js';
import { Fraction } from '../support/fraction.js';

/** The oracle: the token bucket of textbooks, as tokens and the last refill, in exact arithmetic. */
export class TextbookBucket {
  /** Tokens per microsecond. */
  readonly rate: Fraction;
  readonly capacity: Fraction;
  private tokens: Fraction;
  private lastRefill: number;

  constructor(algorithm: Algorithm, start: number) {
    const { tokens, microseconds } = rateOf(algorithm);
    this.rate = Fraction.of(tokens, microseconds);
    this.capacity = Fraction.of(algorithm.limit);
    this.tokens = this.capacity;
    this.lastRefill = start;
  }

  /** The tokens at an instant that is not before the last refill. */
  at(now: number): Fraction {
    const refilled = this.rate.times(Fraction.of(now - this.lastRefill));
    return this.tokens.plus(refilled).min(this.capacity);
  }

  wouldAllow(now: number, cost: number): boolean {
    return Fraction.of(cost).atMost(this.at(now));
  }

  take(now: number, cost: number): void {
    this.tokens = this.at(now).minus(Fraction.of(cost));
    this.lastRefill = now;
  }
}

/** The oracle: the leaky bucket as a queue of departure slots, at least one period apart, in exact arithmetic. */
export class TextbookQueue {
  /** Microseconds between two departures. */
  readonly period: Fraction;
  private readonly places: number;
  private lastSlot: Fraction | undefined;

  constructor(algorithm: Algorithm) {
    const { tokens, microseconds } = rateOf(algorithm);
    this.period = Fraction.of(microseconds, tokens);
    this.places = algorithm.limit;
  }

  /** The slot of the next request of cost 1. */
  nextSlot(now: number): Fraction {
    return this.lastSlot?.plus(this.period).max(Fraction.of(now)) ?? Fraction.of(now);
  }

  /** Whether the last slot of the request lies within the waiting places. */
  wouldAllow(now: number, cost: number): boolean {
    return this.nextSlot(now)
      .plus(this.periods(cost - 1))
      .minus(Fraction.of(now))
      .atMost(this.periods(this.places));
  }

  /** Gives a request as many slots as it costs. */
  take(now: number, cost: number): void {
    this.lastSlot = this.nextSlot(now).plus(this.periods(cost - 1));
  }

  periods(count: number): Fraction {
    return this.period.times(Fraction.of(count));
  }
}
