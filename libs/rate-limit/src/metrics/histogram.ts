import type { Distribution } from './stats.js';

/** Counts values by bounds. Plain numbers: every decision may pass here. */
export class Histogram {
  /** Values up to each bound and above the one before; the last, those above all. */
  private readonly counts: number[];
  private sum = 0;

  /** @param bounds ascending */
  constructor(private readonly bounds: readonly number[]) {
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number): void {
    const { bounds } = this;
    let i = 0;
    while (i < bounds.length && value > bounds[i]!) i++;
    this.counts[i]!++;
    this.sum += value;
  }

  snapshot(): Distribution {
    let count = 0;
    const buckets = this.bounds.map((upTo, i) => ({ upTo, count: (count += this.counts[i]!) }));
    return { buckets, count: count + this.counts.at(-1)!, sum: this.sum };
  }
}
