import { mulberry32 } from './mulberry32.js';

/** Random numbers that are the same for the same seed, in every process (mulberry32). Not for secrets. */
export class Random {
  /** From 0, below 1. */
  readonly next: () => number;

  /**
   * @param seed a whole number
   * @param stream a whole number from 0: each stream of a seed is an independent sequence
   */
  constructor(seed: number, stream = 0) {
    this.next = mulberry32(Math.imul(seed, 0x9e3779b1) ^ Math.imul(stream + 1, 0x85ebca6b));
  }

  /** A number from `min`, below `max`. */
  between(min: number, max: number): number {
    return min + this.next() * (max - min);
  }

  /** A whole number from `min` to `max`, both included. */
  whole(min: number, max: number): number {
    return Math.floor(this.between(min, max + 1));
  }

  /** The elements in random order. */
  shuffled<T>(things: Iterable<T>): T[] {
    const shuffled = [...things];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.whole(0, i);
      [shuffled[i], shuffled[j]] = [shuffled[j]!, shuffled[i]!];
    }
    return shuffled;
  }
}
