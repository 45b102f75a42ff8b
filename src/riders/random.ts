/** Random numbers that are the same for the same seed (mulberry32). Not for secrets. */
export class Random {
  private state: number;

  /**
   * @param seed a whole number
   * @param stream a whole number from 0: each stream of a seed is an independent sequence
   */
  constructor(seed: number, stream = 0) {
    this.state = (Math.imul(seed, 0x9e3779b1) ^ Math.imul(stream + 1, 0x85ebca6b)) >>> 0;
  }

  /** A number from 0, below 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A number from `min`, below `max`. */
  between(min: number, max: number): number {
    return min + this.next() * (max - min);
  }

  /** A whole number from `min` to `max`, both included. */
  whole(min: number, max: number): number {
    return Math.floor(this.between(min, max + 1));
  }

  /** The same elements in random order. */
  shuffled<T>(things: Iterable<T>): T[] {
    const shuffled = [...things];
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = this.whole(0, i);
      [shuffled[i], shuffled[j]] = [shuffled[j]!, shuffled[i]!];
    }
    return shuffled;
  }
}
