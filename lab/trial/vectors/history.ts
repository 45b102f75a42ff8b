import type { Textbook } from '../../textbook/textbook.js';
import type { Step } from './vector.js';

/** Writes down what a textbook says to the requests of one key, of which the limit may change and the clock may step back. */
export class History {
  readonly steps: Step[] = [];
  /** The instant of the next request: microseconds since the start. */
  now = 0;
  private readonly charged: { at: number; cost: number }[] = [];
  private textbook: Textbook;

  /** @param open makes the textbook of a limit */
  constructor(
    private readonly start: number,
    private readonly open: (limit: number) => Textbook,
    private limit: number,
  ) {
    this.textbook = open(limit);
  }

  /** The largest cost that ever fits. */
  get whole(): number {
    return this.textbook.maxCost;
  }

  ask(cost = 1): Step {
    const { now, limit } = this;
    const at = this.start + now;
    const { allowed, remaining, resetAfter, retryAfter, delay } = this.textbook.verdict(at, cost);
    if (allowed) this.charged.push({ at, cost });
    const never = retryAfter === Infinity ? null : retryAfter;
    const step: Step = [now, cost, limit, allowed, remaining, resetAfter, never, delay];
    this.steps.push(step);
    return step;
  }

  /** Asks, and if the cost is rejected for a time, a microsecond before that time and at it. */
  askUntilAllowed(cost = 1): void {
    const [now, , , allowed, , , retryAfter] = this.ask(cost);
    if (allowed || retryAfter === null) return;
    this.now = now + retryAfter - 1;
    this.ask(cost);
    this.now++;
    this.ask(cost);
  }

  /** Asks without a charge a microsecond before all is free, and takes all once it is. */
  askUntilWhole(): void {
    const [now, , , , , resetAfter] = this.ask(0);
    if (resetAfter > 0) {
      this.now = now + resetAfter - 1;
      this.ask(0);
      this.now++;
    }
    this.ask(this.whole);
  }

  /** Other numbers for the same key: what was charged stays charged. */
  changeLimit(limit: number): void {
    this.limit = limit;
    this.textbook = this.open(limit);
    for (const { at, cost } of this.charged) this.textbook.charge(at, cost);
  }

  /** Sets the clock back. What was charged ahead of it counts as charged now. All charges have to be of one instant. */
  stepBack(microseconds: number): void {
    this.now -= microseconds;
    const at = this.start + this.now;
    for (const one of this.charged) one.at = Math.min(one.at, at);
    this.changeLimit(this.limit);
  }
}
