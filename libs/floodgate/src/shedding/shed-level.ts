/** The least part of a class that passes while some of it does. Below it nothing of the class passes. */
const LEAST_PART = 0.02;
/** What a step leaves of the part that passes: between these, by how far the process is over its threshold. */
const [LEAST_LEFT, MOST_LEFT] = [0.25, 0.7];
/** What a step may bring the process to, as a ratio to its threshold. */
const AIM = 0.95;
/** The most that a step lets the part that passes grow. */
const MOST_GROWTH = 4;

/** The rejected requests of one class. */
export interface ShedRequestsStats {
  /** The class of the requests, such as `'background'`. */
  readonly priority: string;
  readonly requests: number;
}

interface ShedClass {
  readonly name: string;
  /** Requests of the class since the last step. */
  seen: number;
  /** The rejections that are owed: a request is rejected when there is a whole one. */
  owed: number;
  rejected: number;
}

/**
 * Says how much of which classes passes. The lowest class gives way first: a part of it, and then more. The next class gives way
 * when nothing of the lower ones passes.
 *
 * A step multiplies the part that passes. So it changes the load by the same factor, whether a process gets little more than
 * it can do or many times as much.
 */
export class ShedLevel {
  private readonly classes: readonly ShedClass[];
  private readonly ranks: ReadonlyMap<string, number>;
  /** The class that passes in part. Those before it do not pass. */
  private current = 0;
  /** The part of the current class that passes: 0 to 1. */
  private part = 1;

  /** @param classes the names of the classes that give way, lowest first: at least one */
  constructor(classes: readonly string[]) {
    this.classes = classes.map((name) => ({ name, seen: 0, owed: 0, rejected: 0 }));
    this.ranks = new Map(classes.map((name, i) => [name, i]));
  }

  /** The level: from 0, where all requests pass, to 1, where no request of any class does. */
  get value(): number {
    return (this.current + 1 - this.part) / this.classes.length;
  }

  /** The rejected requests of each class, lowest first. */
  get rejected(): readonly ShedRequestsStats[] {
    return this.classes.map(({ name, rejected }) => ({ priority: name, requests: rejected }));
  }

  /** The place of a class among those that give way, lowest first; undefined for a class that never does. */
  rankOf(name: string): number | undefined {
    return this.ranks.get(name);
  }

  /**
   * Whether a request is rejected, and counts it. Rejections are spread evenly: of a class that passes by three quarters, each
   * fourth request is rejected.
   *
   * @param name the class of the request
   */
  rejects(name: string): boolean {
    const rank = this.ranks.get(name);
    if (rank === undefined) return false;
    const one = this.classes[rank]!;
    one.seen++;
    if (rank > this.current) return false;
    if (rank === this.current) {
      one.owed += 1 - this.part;
      if (one.owed < 1) return false;
      one.owed--;
    }
    one.rejected++;
    return true;
  }

  /** @param ratio of what was measured to its threshold: 1 or more */
  shedMore(ratio: number): void {
    const left = Math.min(MOST_LEFT, Math.max(LEAST_LEFT, 1 / ratio ** 2));
    this.part *= left;
    // A class without requests has nothing to give, and would delay the step that helps.
    const busy = this.classes.findIndex(({ seen }, i) => i >= this.current && seen > 0);
    if (busy > this.current) {
      this.current = busy;
      this.part = left;
    }
    if (this.part < LEAST_PART) {
      const isLast = this.current === this.classes.length - 1;
      if (!isLast) this.current++;
      // The step before may have been enough: what has been waiting since then keeps the process busy for a while.
      this.part = isLast ? 0 : MOST_LEFT;
    }
    this.forgetSeen();
  }

  /** @param ratio of what was measured to its threshold: well below 1 */
  shedLess(ratio: number): void {
    // Even if all the load came from this class, the step would not bring the process over its threshold.
    this.part = Math.max(LEAST_PART, this.part * Math.min(MOST_GROWTH, AIM / ratio));
    if (this.part >= 1) {
      this.classes[this.current]!.owed = 0;
      this.part = this.current === 0 ? 1 : LEAST_PART;
      this.current = Math.max(0, this.current - 1);
    }
    this.forgetSeen();
  }

  private forgetSeen(): void {
    for (const one of this.classes) one.seen = 0;
  }
}
