import { isWhole } from '../core/algorithm.js';
import type { LogLevel } from './sliding-window-log.js';
import type { WireFormat } from '../core/wire-format.js';

export class SlidingWindowLogWire implements WireFormat<LogLevel> {
  readonly replyLength: number = 3;

  /** @param window microseconds */
  constructor(
    readonly program: string,
    readonly numbers: readonly number[],
    private readonly window: number,
  ) {}

  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    const used = reply[offset];
    const longest = used === 0 ? 0 : this.window + maxSkew;
    return (
      isWhole(used, 0) &&
      isWhole(reply[offset + 1], Number(used !== 0), longest) &&
      isWhole(reply[offset + 2], 0, this.window + maxSkew)
    );
  }

  decode(reply: readonly number[], offset: number): LogLevel {
    const wait = reply[offset + 2]!;
    // Redis keeps the instants. Its reply holds the one expiry that a rejection needs.
    return { used: reply[offset]!, left: reply[offset + 1]!, expiry: () => wait, first: 0, end: 0, added: 0, stamp: 0 };
  }
}
