import { mulberry32 } from '../../../tools/mulberry32.js';

/** The same numbers for the same seed, in every process (mulberry32). Not for secrets. */
export class Random {
  /** From 0, below 1. */
  readonly next: () => number;

  /** @param seed a whole number; `stream` makes of one seed as many independent sequences as there are numbers */
  constructor(seed: number, stream = 0) {
    this.next = mulberry32(Math.imul(seed, 0x9e3779b1) ^ Math.imul(stream + 1, 0x85ebca6b));
  }

  /** From `min`, below `max`. */
  between(min: number, max: number): number {
    return min + this.next() * (max - min);
  }

  /** A whole number from `min` to `max`, both included. */
  whole(min: number, max: number): number {
    return Math.floor(this.between(min, max + 1));
  }

  /** The same things in another order. */
  shuffled<T>(things: Iterable<T>): T[] {
    const shuffled = [...things];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.whole(0, i);
      [shuffled[i], shuffled[j]] = [shuffled[j]!, shuffled[i]!];
    }
    return shuffled;
  }
}
