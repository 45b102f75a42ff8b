import type { FixedWindow, Window, WindowLevel } from './fixed-window.js';
import type { ChargeMark, Refunds } from '../core/refunds.js';

/** Refunds charges of the current window only. */
export class FixedWindowRefunds implements Refunds<WindowLevel, Window> {
  readonly unit = 1;

  constructor(private readonly windows: Pick<FixedWindow, 'endOf'>) {}

  refund(state: Window, now: number, cost: number, { resetAt }: ChargeMark): number {
    if (this.windows.endOf(state.start) !== resetAt || now >= resetAt) return 0;
    const refunded = Math.min(cost, state.count);
    state.count -= refunded;
    return refunded;
  }

  without({ count, left }: WindowLevel, charges: readonly ChargeMark[], now: number): WindowLevel {
    let kept = count;
    for (const { cost, resetAt } of charges) if (resetAt === now + left) kept -= cost;
    return { count: Math.max(0, kept), left };
  }
}
