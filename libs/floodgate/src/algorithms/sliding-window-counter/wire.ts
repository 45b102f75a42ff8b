import { isWhole } from '../core/algorithm.js';
import type { WindowsLevel } from './sliding-window-counter.js';
import type { WireFormat } from '../core/wire-format.js';

export class SlidingWindowCounterWire implements WireFormat<WindowsLevel> {
  readonly program = 'sliding-window-counter';
  readonly replyLength = 3;
  readonly numbers: readonly number[];

  constructor(
    limit: number,
    private readonly window: number,
  ) {
    this.numbers = [limit, window];
  }

  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    return (
      isWhole(reply[offset], 0) && isWhole(reply[offset + 1], 0) && isWhole(reply[offset + 2], 1, this.window + maxSkew)
    );
  }

  decode(reply: readonly number[], offset: number): WindowsLevel {
    return { current: reply[offset]!, previous: reply[offset + 1]!, left: reply[offset + 2]! };
  }
}
