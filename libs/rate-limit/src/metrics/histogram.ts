import type { Distribution } from './stats.js';

/** Counts values by bounds, in plain numbers: every decision may pass here. */
export class Histogram {
  /** For each bound, the number of values above the bound before it; last, the number of values above all bounds. */
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
