import { isWhole } from '../core/algorithm.js';
import type { Calendar } from './calendar.js';
import type { WindowLevel } from './fixed-window.js';
import type { WireFormat } from '../core/wire-format.js';

export class FixedWindowWire implements WireFormat<WindowLevel> {
  readonly program = 'fixed-window';
  readonly replyLength = 2;

  /** @param longest the microseconds that no window exceeds */
  constructor(
    readonly numbers: readonly number[],
    private readonly longest: number,
  ) {}

  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    return isWhole(reply[offset], 0) && isWhole(reply[offset + 1], 1, this.longest + maxSkew);
  }

  decode(reply: readonly number[], offset: number): WindowLevel {
    return { count: reply[offset]!, left: reply[offset + 1]! };
  }
}

/** Redis has no time zones. It gets the edges of the windows around `now`, and decides by its own clock between them. */
export class CalendarWire extends FixedWindowWire {
  constructor(
    private readonly limit: number,
    private readonly calendar: Calendar,
  ) {
    super([limit, calendar.nominal], calendar.longest);
  }

  numbersAt(now: number): readonly number[] {
    return [this.limit, 0, ...this.calendar.edgesAround(now)];
  }
}
