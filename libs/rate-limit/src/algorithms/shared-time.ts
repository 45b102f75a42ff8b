/**
 * The time of one process's part: it runs as many times slower as there are processes. A rate that is paid by this time is
 * the process's part of the rate, exactly, however often the number of processes changes.
 *
 * Times are whole microseconds; the clock behind them must not step back.
 */
export class SharedTime {
  /** This time at the instant `since` of the clock. It never goes back. */
  private base = 0;
  private since = 0;

  /** @param count the number of processes: a whole number from 1 */
  constructor(private count: number) {}

  get processes(): number {
    return this.count;
  }

  /** From `now` on the time is that of one of `count` processes. */
  setProcesses(count: number, now: number): void {
    if (count === this.count) return;
    const base = this.at(now);
    // What has passed of this microsecond carries over, rounded down: a flipping number must not add to the time.
    const passed = Math.floor((this.passed(now) * count) / this.count);
    [this.base, this.since, this.count] = [base, now - passed, count];
  }

  /** This time at the instant `now` of the clock. */
  at(now: number): number {
    return this.base + Math.floor((now - this.since) / this.count);
  }

  /** Microseconds of the clock since this time's last whole microsecond: fewer than there are processes. */
  passed(now: number): number {
    return (now - this.since) % this.count;
  }
}
