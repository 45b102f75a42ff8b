/** Random numbers from a seed: the same seed gives the same numbers in every process. */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** At least 0 and below 1. Source: mulberry32 by Tommy Ettinger, public domain. */
  readonly next = (): number => {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  /** A whole number from 0, below the bound. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  /** The time between two arrivals of a Poisson process with this mean. */
  exponential(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }

  /** A generator of its own, so that one part of the simulation draws the same numbers whatever another part draws. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 32));
  }
}
