import type { Distribution } from './stats.js';

/** Is told of each value, and of what it was measured of. Must not throw. */
export type Tap = (value: number, labels: Readonly<Record<string, string>>) => void;

const NO_LABELS = {};

/** Counts values by bounds, in plain numbers: every decision may pass here. */
export class Histogram {
  /** The number of values between each bound and the one before it; last, the number of values above all bounds. */
  private readonly counts: number[];
  private sum = 0;
  /** Undefined while there is no listener, so that most applications pay for one comparison. */
  private taps: readonly Tap[] | undefined;

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
    if (this.taps !== undefined) for (const tap of this.taps) tap(value, NO_LABELS);
  }

  /** Tells `tap` of every value from now on. Returns a function that ends that. */
  tap(tap: Tap): () => void {
    this.taps = [...(this.taps ?? []), tap];
    return () => {
      const left = this.taps?.filter((one) => one !== tap) ?? [];
      this.taps = left.length === 0 ? undefined : left;
    };
  }

  snapshot(): Distribution {
    let count = 0;
    const buckets = this.bounds.map((upTo, i) => ({ upTo, count: (count += this.counts[i]!) }));
    return { buckets, count: count + this.counts.at(-1)!, sum: this.sum };
  }
}
