import type { SlidingWindowCounter, Windows, WindowsLevel } from './sliding-window-counter.js';
import type { ChargeMark, Refunds } from '../core/refunds.js';

/**
 * Refunds to the window of the charge. If that is the previous window by now, a refund returns the weight that the cost still
 * has.
 */
export class SlidingWindowCounterRefunds implements Refunds<WindowsLevel, Windows> {
  readonly unit = 1;

  constructor(private readonly counter: SlidingWindowCounter) {}

  refund(state: Windows, now: number, cost: number, { resetAt }: ChargeMark): number {
    const { counter } = this;
    const level = counter.read(state, now, Infinity);
    const { current, previous, left } = level;
    const ends = now + left;
    const after = { ...level };
    if (current > 0 && ends + counter.window === resetAt) after.current = Math.max(0, current - cost);
    else if (previous > 0 && ends === resetAt) after.previous = Math.max(0, previous - cost);
    else return 0;
    counter.write(after, now, state);
    return counter.used(level) - counter.used(after);
  }

  without({ current, previous, left }: WindowsLevel, charges: readonly ChargeMark[], now: number): WindowsLevel {
    const ends = now + left;
    let [kept, keptBefore] = [current, previous];
    for (const { cost, resetAt } of charges) {
      if (resetAt === ends + this.counter.window) kept -= cost;
      else if (resetAt === ends) keptBefore -= cost;
    }
    return { current: Math.max(0, kept), previous: Math.max(0, keptBefore), left };
  }
}
