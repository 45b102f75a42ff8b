import { isWhole } from '../core/algorithm.js';
import type { PrefetchLevel } from './prefetch-bucket.js';
import type { TokenBucket } from './token-bucket.js';
import type { WireFormat } from '../core/wire-format.js';

export class PrefetchBucketWire implements WireFormat<PrefetchLevel> {
  readonly program = 'prefetch-bucket';
  readonly replyLength = 4;

  constructor(
    private readonly bucket: TokenBucket,
    readonly numbers: readonly number[],
  ) {}

  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    const { wire, limit } = this.bucket;
    return (
      wire.isLevel(reply, offset, maxSkew) &&
      isWhole(reply[offset + 1], 0, limit) &&
      isWhole(reply[offset + 2], 0, limit) &&
      isWhole(reply[offset + 3], 0)
    );
  }

  decode(reply: readonly number[], offset: number): PrefetchLevel {
    return { debt: reply[offset]!, young: reply[offset + 1]!, old: reply[offset + 2]!, now: reply[offset + 3]! };
  }
}
