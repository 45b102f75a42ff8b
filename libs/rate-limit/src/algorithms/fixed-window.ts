import { type Algorithm, isWhole, shareOfLimit } from './algorithm.js';
import type { SharedTime } from './shared-time.js';

interface Window {
  /** First microsecond. */
  start: number;
  count: number;
}

interface WindowLevel {
  readonly count: number;
  /** Microseconds until the window ends. */
  readonly left: number;
}

/**
 * Fixed window: at most `limit` in each window; windows are aligned to the clock. Cheap and easy to explain, and twice the
 * limit can pass within a moment around a window's edge.
 */
export class FixedWindow implements Algorithm<WindowLevel, Window> {
  readonly name = 'fixed-window';
  readonly delays = false;
  readonly maxCost: number;
  readonly rate: string;
  readonly wire: readonly number[];
  readonly replyLength = 2;
  readonly bytesPerCost = 0;

  /** @param window length in microseconds */
  constructor(
    readonly limit: number,
    private readonly window: number,
  ) {
    this.maxCost = limit;
    this.rate = String(window);
    this.wire = [limit, window];
  }

  share(processes: number, atLeast: number): FixedWindow {
    if (processes === 1) return this;
    const limit = shareOfLimit(this.limit, processes, atLeast);
    return new FixedWindow(limit, this.window);
  }

  /** A state carries no limit: its counts carry on under another one. */
  localShare({ processes }: SharedTime, atLeast: number): FixedWindow {
    return this.share(processes, atLeast);
  }

  isAhead(state: Window, now: number, maxSkew: number): boolean {
    return state.start > now + maxSkew;
  }

  read(state: Window | undefined, now: number, maxSkew: number): WindowLevel {
    const start = now - (now % this.window);
    if (state === undefined || state.start < start) return { count: 0, left: start + this.window - now };
    // A window never goes back: one that lies ahead by no more than the skew goes on; further ahead its count moves here.
    const current = this.isAhead(state, now, maxSkew) ? start : state.start;
    return { count: state.count, left: current + this.window - now };
  }

  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    return isWhole(reply[offset], 0) && isWhole(reply[offset + 1], 1, this.window + maxSkew);
  }

  decode(reply: readonly number[], offset: number): WindowLevel {
    return { count: reply[offset]!, left: reply[offset + 1]! };
  }

  fits(level: WindowLevel, cost: number): boolean {
    return cost <= this.limit - level.count;
  }

  charge(level: WindowLevel, cost: number): WindowLevel {
    return { count: level.count + cost, left: level.left };
  }

  write(level: WindowLevel, now: number, state: Window = { start: 0, count: 0 }): Window {
    state.start = now + level.left - this.window;
    state.count = level.count;
    return state;
  }

  /** In the same window only. */
  refund(state: Window, now: number, cost: number, _at: number, resetAt: number): void {
    if (state.start + this.window === resetAt && now < resetAt) state.count -= Math.min(cost, state.count);
  }

  sizeOf(): number {
    return 64;
  }

  expiresAt(level: WindowLevel, now: number): number {
    return now + level.left;
  }

  remaining(level: WindowLevel): number {
    return Math.max(0, this.limit - level.count);
  }

  resetAfter(level: WindowLevel): number {
    return level.left;
  }

  retryAfter(level: WindowLevel): number {
    return level.left;
  }

  delay(): number {
    return 0;
  }
}
