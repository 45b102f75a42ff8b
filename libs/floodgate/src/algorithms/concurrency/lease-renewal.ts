import { isWhole } from '../core/algorithm.js';
import type { RenewalLevel } from './concurrency.js';
import { SlidingWindowLogWire } from '../sliding-window-log/wire.js';

/** A log whose level also says whether the renewed lease is held. */
export class LeaseRenewalWire extends SlidingWindowLogWire {
  override readonly replyLength = 4;

  override isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    return super.isLevel(reply, offset, maxSkew) && isWhole(reply[offset + 3], 0, 1);
  }

  override decode(reply: readonly number[], offset: number): RenewalLevel {
    return { ...super.decode(reply, offset), held: reply[offset + 3] === 1 ? Infinity : 0, moved: 0 };
  }
}
