/**
 * A time that runs as many times slower as there are processes. A rate over this time is exactly one process's equal part of
 * the rate, also while the number of processes changes.
 *
 * Times are whole microseconds. The clock must not step back.
 */
export class DividedClock {
  /** This time at the instant `since` of the clock. It never goes back. */
  private base = 0;
  private since = 0;

  /** @param count the number of processes: a whole number from 1 */
  constructor(private count: number) {}

  get processes(): number {
    return this.count;
  }

  /** Sets the number of processes from `now` on. */
  setProcesses(count: number, now: number): void {
    if (count === this.count) return;
    const base = this.at(now);
    // The passed part of this microsecond carries over, rounded down: a flipping number must not speed the time up.
    const passed = Math.floor((this.passed(now) * count) / this.count);
    [this.base, this.since, this.count] = [base, now - passed, count];
  }

  /** This time at the instant `now` of the clock. */
  at(now: number): number {
    return this.base + Math.floor((now - this.since) / this.count);
  }

  /** Microseconds of the clock since this time's last whole microsecond; less than the number of processes. */
  passed(now: number): number {
    return (now - this.since) % this.count;
  }
}
