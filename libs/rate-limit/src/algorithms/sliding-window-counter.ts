import { type Algorithm, type ChargeMark, isWhole, shareOfLimit } from './algorithm.js';
import { type AlgorithmDefinition, MAX_COUNT, type OptionReader, readWindow } from './options.js';
import type { SharedTime } from './shared-time.js';

/** `{ algorithm: 'sliding-window-counter', limit, window }` */
export const SLIDING_WINDOW_COUNTER = {
  name: 'sliding-window-counter',
  options: ['limit', 'window'],
  create: (options: OptionReader): Algorithm => {
    const limit = options.whole('limit', MAX_COUNT);
    return new SlidingWindowCounter(limit, readWindow(options, limit));
  },
  lend: (windows): Algorithm => windows,
} as const satisfies AlgorithmDefinition;

interface Windows {
  /** The current window's first microsecond. */
  start: number;
  current: number;
  previous: number;
}

interface WindowsLevel {
  readonly current: number;
  readonly previous: number;
  /** Microseconds until the current window ends; more than its length when the clock is behind the window. */
  readonly left: number;
}

/**
 * Sliding window counter: weighs the previous window's count by its share that is less than a window ago, and adds the current
 * count. Two counts replace a log. The weighting is exact if requests were spread evenly over the previous window; at worst
 * 2 x limit - 1 pass in one window-long interval.
 *
 * A request is allowed if previous x (window - elapsed) <= (limit - cost - current) x window, in whole numbers. Source:
 * Cloudflare, "How we built rate limiting capable of scaling to millions of domains" (2017).
 */
export class SlidingWindowCounter implements Algorithm<WindowsLevel, Windows> {
  readonly name = 'sliding-window-counter';
  readonly code = 'swc';
  readonly delays = false;
  readonly refills = false;
  readonly shardable = true;
  readonly maxCost: number;
  readonly rate: string;
  readonly wire: readonly number[];
  readonly replyLength = 3;
  readonly bytesPerCost = 0;
  readonly maxOverdraft: number;

  /** @param window length in microseconds; limit x window must stay below 2^52 */
  constructor(
    readonly limit: number,
    readonly window: number,
  ) {
    this.maxCost = limit;
    // Counts are multiplied by the window's length.
    this.maxOverdraft = Math.min(MAX_COUNT, Math.floor(Number.MAX_SAFE_INTEGER / window) - limit);
    this.rate = String(window);
    this.wire = [limit, window];
  }

  describe(): string {
    return `limit ${this.limit}, window ${this.window / 1000} ms`;
  }

  share(processes: number, atLeast: number): SlidingWindowCounter {
    if (processes === 1) return this;
    const limit = shareOfLimit(this.limit, processes, atLeast);
    return new SlidingWindowCounter(limit, this.window);
  }

  /** The state holds no limit, so its counts stay valid under another one. */
  localShare({ processes }: SharedTime, atLeast: number): SlidingWindowCounter {
    return this.share(processes, atLeast);
  }

  isAhead(state: Windows, now: number, maxSkew: number): boolean {
    return state.start > now + maxSkew;
  }

  read(state: Windows | undefined, now: number, maxSkew: number): WindowsLevel {
    const start = now - (now % this.window);
    const left = start + this.window - now;
    if (state === undefined) return { current: 0, previous: 0, left };
    if (state.start >= start) {
      // A window never goes back: it goes on if it lies ahead by the skew at most. Further ahead, its counts move here.
      const ahead = this.isAhead(state, now, maxSkew) ? 0 : state.start - start;
      return { current: state.current, previous: state.previous, left: left + ahead };
    }
    return { current: 0, previous: state.start === start - this.window ? state.current : 0, left };
  }

  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    return (
      isWhole(reply[offset], 0) && isWhole(reply[offset + 1], 0) && isWhole(reply[offset + 2], 1, this.window + maxSkew)
    );
  }

  decode(reply: readonly number[], offset: number): WindowsLevel {
    return { current: reply[offset]!, previous: reply[offset + 1]!, left: reply[offset + 2]! };
  }

  fits(level: WindowsLevel, cost: number): boolean {
    return cost <= this.limit - this.used(level);
  }

  charge(level: WindowsLevel, cost: number): WindowsLevel {
    return { current: level.current + cost, previous: level.previous, left: level.left };
  }

  write(level: WindowsLevel, now: number, state: Windows = { start: 0, current: 0, previous: 0 }): Windows {
    state.start = now + level.left - this.window;
    state.current = level.current;
    state.previous = level.previous;
    return state;
  }

  /** Refunds to the window of the charge, which may be the previous one by now. */
  refund(state: Windows, now: number, cost: number, { resetAt }: ChargeMark): number {
    const { current, previous, left } = this.read(state, now, Infinity);
    const ends = now + left;
    if (current > 0 && ends + this.window === resetAt) {
      const refunded = Math.min(cost, current);
      this.write({ current: current - refunded, previous, left }, now, state);
      return refunded;
    }
    if (previous > 0 && ends === resetAt) {
      const refunded = Math.min(cost, previous);
      this.write({ current, previous: previous - refunded, left }, now, state);
      return refunded;
    }
    return 0;
  }

  roomWithin(level: WindowsLevel, overdraft: number): number {
    return this.limit + overdraft - this.used(level);
  }

  sizeOf(): number {
    return 72;
  }

  expiresAt(level: WindowsLevel, now: number): number {
    return now + level.left + this.window;
  }

  remaining(level: WindowsLevel): number {
    return Math.max(0, this.limit - this.used(level));
  }

  resetAfter(level: WindowsLevel): number {
    if (level.current > 0) return level.left + this.window;
    return level.previous > 0 ? level.left : 0;
  }

  retryAfter(level: WindowsLevel, cost: number): number {
    const elapsed = this.window - level.left;
    const inThisWindow = this.needed(level.previous, this.limit - cost - level.current);
    if (inThisWindow <= this.window) return inThisWindow - elapsed;
    return level.left + this.needed(level.current, this.limit - cost);
  }

  delay(): number {
    return 0;
  }

  /** Tokens that are used later in their window count no less than at its charge. In the next one they would count too little. */
  leasedFor(resetAfter: number): number {
    return resetAfter - this.window;
  }

  /** The used part of the limit. The previous window's share is rounded up, which decides exactly as the product form does. */
  private used(level: WindowsLevel): number {
    return level.current + Math.ceil((level.previous * Math.min(level.left, this.window)) / this.window);
  }

  /** How far into a window the previous window's count weighs no more than `room`. */
  private needed(previous: number, room: number): number {
    if (room < 0) return Infinity;
    if (previous === 0) return 0;
    return Math.max(0, this.window - Math.floor((room * this.window) / previous));
  }
}
