import { isWhole } from '../core/algorithm.js';
import type { WireFormat } from '../core/wire-format.js';

/** The level of a bucket is its debt. */
export class BucketWire implements WireFormat<number> {
  readonly replyLength = 1;

  /**
   * @param deepest the deepest debt, in ticks
   * @param ticksPerMicrosecond by which a clock that is behind makes a debt deeper
   */
  constructor(
    readonly program: string,
    readonly numbers: readonly number[],
    private readonly deepest: number,
    private readonly ticksPerMicrosecond: number,
  ) {}

  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    return isWhole(reply[offset], 0, this.deepest + maxSkew * this.ticksPerMicrosecond);
  }

  decode(reply: readonly number[], offset: number): number {
    return reply[offset]!;
  }
}
