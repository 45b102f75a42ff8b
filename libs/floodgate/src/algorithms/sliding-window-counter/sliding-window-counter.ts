import type { Algorithm } from '../core/algorithm.js';
import type { Footprint } from '../core/footprint.js';
import { CountedOverdraft } from '../core/overdraft.js';
import { WindowPrefetch } from '../core/prefetch.js';
import { LimitShares, type Shares } from '../core/shares.js';
import {
  type AlgorithmDefinition,
  FIFTY_YEARS,
  MAX_COUNT,
  type OptionReader,
  readWindow,
  windowOfRate,
} from '../core/options.js';
import { SlidingWindowCounterRefunds } from './refunds.js';
import { SlidingWindowCounterWire } from './wire.js';

/** `{ algorithm: 'sliding-window-counter', limit, window }` */
export const SLIDING_WINDOW_COUNTER = {
  name: 'sliding-window-counter',
  options: ['limit', 'window'],
  create: (options: OptionReader): Algorithm => {
    const limit = options.whole('limit', MAX_COUNT);
    return new SlidingWindowCounter(limit, readWindow(options, limit, FIFTY_YEARS));
  },
  withPrefetch: (windows): Algorithm => windows,
  ofRate: (limit, rate): Algorithm | undefined => {
    const window = windowOfRate(rate, limit, FIFTY_YEARS);
    return window === undefined ? undefined : new SlidingWindowCounter(limit, window);
  },
} as const satisfies AlgorithmDefinition;

export interface Windows {
  /** The current window's first microsecond. */
  start: number;
  current: number;
  previous: number;
}

export interface WindowsLevel {
  readonly current: number;
  readonly previous: number;
  /** Microseconds until the current window ends; more than its length when the clock is behind the window. */
  readonly left: number;
}

const FOOTPRINT: Footprint = { bytesPerCost: 0, sizeOf: () => 72 };

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
  readonly maxCost: number;
  readonly rate: string;
  readonly wire: SlidingWindowCounterWire;
  readonly shares: Shares = new LimitShares(this);
  readonly refunds = new SlidingWindowCounterRefunds(this);
  readonly overdraft: CountedOverdraft<WindowsLevel>;
  readonly prefetch: WindowPrefetch;
  readonly footprint = FOOTPRINT;

  /** @param window length in microseconds; limit x window must stay below 2^52 */
  constructor(
    readonly limit: number,
    readonly window: number,
  ) {
    this.maxCost = limit;
    this.rate = String(window);
    this.wire = new SlidingWindowCounterWire(limit, window);
    this.prefetch = new WindowPrefetch(window);
    // Counts are multiplied by the window's length.
    const max = Math.min(MAX_COUNT, Math.floor(Number.MAX_SAFE_INTEGER / window) - limit);
    this.overdraft = new CountedOverdraft<WindowsLevel>(this, max);
  }

  describe(): string {
    return `limit ${this.limit}, window ${this.window / 1000} ms`;
  }

  withLimit(limit: number): SlidingWindowCounter {
    return new SlidingWindowCounter(limit, this.window);
  }

  isAhead(state: Windows, now: number, maxSkew: number): boolean {
    return state.start > now + maxSkew;
  }

  read(state: Windows | undefined, now: number, maxSkew: number): WindowsLevel {
    const start = now - (now % this.window);
    const left = start + this.window - now;
    if (state === undefined) return { current: 0, previous: 0, left };
    if (state.start >= start) {
      // A window never moves back. If it lies ahead by at most the skew, it continues. If it lies further ahead, its counts
      // move to the current windows.
      const ahead = this.isAhead(state, now, maxSkew) ? 0 : state.start - start;
      return { current: state.current, previous: state.previous, left: left + ahead };
    }
    return { current: 0, previous: state.start === start - this.window ? state.current : 0, left };
  }

  fits(level: WindowsLevel, cost: number, headroom = 0): boolean {
    return cost + headroom <= this.limit - this.used(level);
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

  /** The used part of the limit. The previous window's share is rounded up, which decides exactly as the product form does. */
  used(level: WindowsLevel): number {
    return level.current + Math.ceil((level.previous * Math.min(level.left, this.window)) / this.window);
  }

  /** How far into a window the previous window's count weighs no more than `room`. */
  private needed(previous: number, room: number): number {
    if (room < 0) return Infinity;
    if (previous === 0) return 0;
    return Math.max(0, this.window - Math.floor((room * this.window) / previous));
  }
}
