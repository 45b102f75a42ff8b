/** Clocks that differ by no more milliseconds than that count as equal. */
const EQUAL_MS = 500;
/** An offset stays for differences this close to it. It is more than the above, so that the latency does not decide which one holds. */
const KEPT_MS = 1000;
/** How long nothing may confirm what is known before the clocks are taken to be further apart. */
const PATIENCE_MS = 10_000;

/**
 * How far the application's clock is ahead of the store's.
 *
 * Clients compare an instant with the application's `Date`. An instant that is counted from the arrival of each decision would
 * flicker with the latency. So clocks that agree but for the latency count as equal, and clocks that differ keep their offset.
 */
export class ClockOffset {
  /** Unknown before the first decision. */
  private ms = NaN;
  private confirmedMs = -Infinity;

  /**
   * The instant of the store's clock as the application's clock shows it.
   *
   * @param storeMs milliseconds of the store's clock
   * @param decidedAtMs the store's clock at a decision
   * @param receivedAtMs the application's clock when that decision arrived, or some time later
   * @returns milliseconds, with microseconds behind the point
   */
  applied(storeMs: number, decidedAtMs: number, receivedAtMs: number): number {
    const difference = receivedAtMs - decidedAtMs;
    if (Number.isNaN(this.ms) || difference < this.ms - KEPT_MS) this.set(difference, receivedAtMs);
    else if (difference <= this.ms + KEPT_MS) this.confirmedMs = receivedAtMs;
    // An answer may also be late by itself: its handler took its time.
    else if (receivedAtMs - this.confirmedMs > PATIENCE_MS) this.set(difference, receivedAtMs);
    // A sum of two doubles this large is off by parts of a microsecond.
    return Math.round((storeMs + this.ms) * 1000) / 1000;
  }

  private set(difference: number, receivedAtMs: number): void {
    this.ms = Math.abs(difference) <= EQUAL_MS ? 0 : difference;
    this.confirmedMs = receivedAtMs;
  }
}
