import type { Statement } from '../../floodgate/src/util/responses/statements.js';

/** The draft's `t` is rounded up to seconds. */
const MORE_ROUNDING_MS = 1000;
/** A reset is an instant rounded up to seconds, and `Date` is rounded down. */
const RESET_ROUNDING_MS = 2000;

/**
 * How soon a limit with nothing left lets one more request pass. The fields of a success say it in whole seconds, and the body of
 * a rejection in milliseconds: a limit that passes ten requests a second needs both.
 */
export class Refill {
  /** When the last request left whose success left nothing. The server decided on it later. */
  private emptiedAt: number | undefined;
  /** Milliseconds from there to the next request that passes, as rejections have shown; undefined when none has. */
  private exactMs: number | undefined;
  /** Whether the limit comes back as a whole, as a window does, and not bit by bit. */
  private comesBackWhole = false;

  /**
   * Milliseconds to wait after a success that leaves nothing; 0 when the response does not say.
   *
   * @param sentAt when the request left
   */
  emptied(statement: Statement, sentAt: number): number {
    this.emptiedAt = Math.max(this.emptiedAt ?? sentAt, sentAt);
    const { moreAfterMs, allAfterMs, all } = statement;
    if (moreAfterMs !== undefined) return this.unrounded(moreAfterMs, MORE_ROUNDING_MS);
    if (allAfterMs === undefined) return 0;
    // A limit that fills up evenly passes one request in that request's share of the time.
    const parts = this.comesBackWhole || all === undefined || all === 0 ? 1 : all;
    return this.unrounded(allAfterMs / parts, RESET_ROUNDING_MS / parts);
  }

  /** @param exact whether the delay is not rounded to seconds */
  rejected(statements: readonly Statement[], delayMs: number, exact: boolean, now: number): void {
    for (const { remaining, allAfterMs } of statements) {
      if (remaining === 0 && allAfterMs !== undefined) {
        this.comesBackWhole = delayMs > allAfterMs - RESET_ROUNDING_MS && delayMs > allAfterMs / 2;
      }
    }
    // From the request of the success to the response of the rejection: too long by the time on the way, and never too short.
    if (exact) this.exactMs = Math.max(this.exactMs ?? 0, now + delayMs - (this.emptiedAt ?? now));
  }

  /** The exact time if it can have been rounded up to `ms`. */
  private unrounded(ms: number, roundingMs: number): number {
    if (this.exactMs === undefined) return ms;
    // The limit has become faster, or another one of its kind is the tightest now.
    if (this.exactMs > ms) this.exactMs = undefined;
    else if (this.exactMs > ms - roundingMs) return this.exactMs;
    return ms;
  }
}
