/** Microseconds of a tick, and the ticks without a request after which a client is idle. */
const TICK = 1_000_000;
const ACTIVE_TICKS = 60;

/**
 * Marks entries with the time of their last request, in ticks of a second. A mark is twice the tick, and one more after a repeated
 * request: a small integer takes no memory of its own.
 */
export class Activity {
  private tick = 0;
  private nextTickAt = -Infinity;
  /** The mark of a repeated request in this tick. */
  again = 1;

  /** The mark of a first request in this tick. */
  get first(): number {
    return this.tick * 2;
  }

  /** Advances the tick. Call it before a request's entries are looked up. */
  begin(now: number): void {
    if (now >= this.nextTickAt) this.advance(now);
  }

  /** Keeps ticking after the clock has stepped back. */
  stepBack(now: number): void {
    if (now < this.nextTickAt - TICK) this.advance(now);
  }

  isIdle(mark: number): boolean {
    return mark < (this.tick - ACTIVE_TICKS) * 2;
  }

  /** After a long pause all clients are idle. A clock that steps back makes no client idle. */
  private advance(now: number): void {
    const passed = 1 + Math.floor((now - this.nextTickAt) / TICK);
    this.tick += Math.max(0, Math.min(passed, ACTIVE_TICKS + 1));
    this.again = this.tick * 2 + 1;
    this.nextTickAt = now + TICK;
  }
}

/** Whether a mark is that of a client that asked once. */
export function askedOnce(mark: number): boolean {
  return mark % 2 === 0;
}
