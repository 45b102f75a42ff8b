import type { BlockCharge } from '../../libs/floodgate/src/stores/charge.js';

/** What is known of a key: the rejections that count together, and the blocks that it had. */
interface Known {
  count: number;
  countedUntil: number;
  readonly blocks: { readonly ends: number; readonly step: number }[];
}

/** Blocks as the documentation has them. It knows no clock that steps back. */
export class TextbookBlocks {
  private readonly known = new Map<string, Known>();

  /** Microseconds until the block of a charge ends; 0 without one. */
  left({ block }: { readonly block?: BlockCharge | undefined }, now: number): number {
    return Math.max(0, (this.latest(block)?.ends ?? now) - now);
  }

  /** Which duration the block of a charge lasts, or the latest one lasted, from 1; 0 once that is forgotten. */
  step({ block }: { readonly block?: BlockCharge | undefined }, now: number): number {
    return now < this.forgottenAt(block!) ? this.latest(block)!.step : 0;
  }

  /** When the longest duration has passed since the latest block ended; without one, 0. */
  forgottenAt(block: BlockCharge): number {
    const latest = this.latest(block);
    return latest === undefined ? 0 : latest.ends + block.algorithm.durations.at(-1)!;
  }

  rejected({ block }: { readonly block?: BlockCharge | undefined }, now: number): void {
    const { key, algorithm } = block!;
    const { after, durations } = algorithm;
    let known = this.known.get(key);
    if (known === undefined) this.known.set(key, (known = { count: 0, countedUntil: 0, blocks: [] }));
    if (known.countedUntil <= now) {
      known.count = 0;
      known.countedUntil = now + durations[0]!;
    }
    if (++known.count < after) return;
    const step = Math.min(this.step({ block }, now) + 1, durations.length);
    known.blocks.push({ step, ends: now + durations[step - 1]! });
    known.countedUntil = 0;
  }

  private latest(block: BlockCharge | undefined): { readonly ends: number; readonly step: number } | undefined {
    return this.known.get(block?.key ?? '')?.blocks.at(-1);
  }
}
