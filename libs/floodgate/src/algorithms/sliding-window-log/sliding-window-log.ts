import type { Algorithm, AlgorithmName } from '../core/algorithm.js';
import type { Footprint } from '../core/footprint.js';
import { CountedOverdraft } from '../core/overdraft.js';
import { LimitShares, type Shares } from '../core/shares.js';
import { type AlgorithmDefinition, type OptionReader, readWindow, windowOfRate } from '../core/options.js';
import { SlidingWindowLogRefunds } from './refunds.js';
import { upTo } from '../core/up-to.js';
import { SlidingWindowLogWire } from './wire.js';

export const MAX_LIMIT = 1_000_000;
/** One request adds an entry for each unit of its cost. Equals LARGEST in the Lua file. */
export const MAX_COST = 1_000;

/** `{ algorithm: 'sliding-window-log', limit, window }` */
export const SLIDING_WINDOW_LOG = {
  name: 'sliding-window-log',
  options: ['limit', 'window'],
  create: (options: OptionReader): Algorithm => {
    const limit = options.whole('limit', MAX_LIMIT);
    return new SlidingWindowLog(limit, readWindow(options, 1), Math.min(limit, MAX_COST));
  },
  ofRate: (limit, rate): Algorithm | undefined => {
    const window = windowOfRate(rate, 1);
    if (window === undefined || limit > MAX_LIMIT) return undefined;
    return new SlidingWindowLog(limit, window, Math.min(limit, MAX_COST));
  },
  whyNoPrefetch: 'it counts the instant of each request, which a token that is taken ahead does not have yet',
} as const satisfies AlgorithmDefinition;

/** The instants of admitted requests, oldest first; those before the place `first` have expired. */
export interface Log {
  instants: number[];
  first: number;
}

export interface LogLevel {
  /** How many instants count. */
  readonly used: number;
  /** Microseconds until the newest of them expires; 0 when none counts. */
  readonly left: number;
  /** Microseconds until the `n` oldest instants that count (n >= 1) have expired. */
  readonly expiry: (n: number) => number;
  /** The instants that count lie from `first` to before `end` in the stored log; `added` times `stamp` is to be appended. */
  readonly first: number;
  readonly end: number;
  readonly added: number;
  readonly stamp: number;
}

/** Bytes of a log without instants: the objects, and the space that V8 reserves when an array grows. */
const EMPTY_BYTES = 224;
/** An instant takes 8 bytes, and V8 lets an array grow by half. */
const INSTANT_BYTES = 12;
/** Counts expired instants, too, until they are removed. */
const FOOTPRINT: Footprint<Log> = {
  bytesPerCost: INSTANT_BYTES,
  sizeOf: (log) => EMPTY_BYTES + (log === undefined ? 0 : log.instants.length * INSTANT_BYTES),
};
/** Expired instants are removed once there are this many and they are half of the array. */
const COMPACT = 64;

/**
 * Sliding window log: keeps the instants of admitted requests; those newer than now - window count against `limit`. It is exact
 * in every window-long interval, but stores one instant for each unit of cost. Source: Figma, "An alternative approach to rate
 * limiting" (2017).
 */
export class SlidingWindowLog implements Algorithm<LogLevel, Log> {
  readonly name: AlgorithmName = 'sliding-window-log';
  readonly code: string = 'swl';
  readonly delays = false;
  readonly refills = false;
  readonly rate: string;
  readonly wire: SlidingWindowLogWire;
  readonly shares: Shares = new LimitShares(this);
  readonly refunds: SlidingWindowLogRefunds;
  /** One settlement adds as many entries as one request, at most. */
  readonly overdraft = new CountedOverdraft<LogLevel>(this, MAX_LIMIT, MAX_COST);
  readonly footprint = FOOTPRINT;

  /** @param window length in microseconds */
  constructor(
    readonly limit: number,
    readonly window: number,
    readonly maxCost: number,
  ) {
    this.rate = String(window);
    this.wire = new SlidingWindowLogWire('sliding-window-log', [limit, window], window);
    this.refunds = new SlidingWindowLogRefunds(window);
  }

  describe(): string {
    return `limit ${this.limit}, window ${this.window / 1000} ms`;
  }

  withLimit(limit: number): SlidingWindowLog {
    return new SlidingWindowLog(limit, this.window, Math.min(limit, this.maxCost));
  }

  used({ used }: LogLevel): number {
    return used;
  }

  isAhead(log: Log, now: number, maxSkew: number): boolean {
    return log.instants.at(-1)! > now + maxSkew;
  }

  read(log: Log | undefined, now: number, maxSkew: number): LogLevel {
    const instants = log?.instants ?? [];
    let newest = instants.at(-1) ?? -Infinity;
    let end = instants.length;
    let added = 0;
    if (log !== undefined && this.isAhead(log, now, maxSkew)) {
      // The clock stepped back: instants that lie ahead of it move to now.
      end = upTo(instants, now, log.first);
      added = instants.length - end;
      newest = now;
    }
    const stamp = Math.max(now, newest);
    const first = Math.min(end, upTo(instants, now - this.window, log?.first ?? 0));
    const used = end - first + added;
    const expiry = (n: number): number => (first + n - 1 < end ? instants[first + n - 1]! : stamp) + this.window - now;
    return { used, left: used > 0 ? newest + this.window - now : 0, expiry, first, end, added, stamp };
  }

  fits(level: LogLevel, cost: number, headroom = 0): boolean {
    return cost <= this.maxCost && cost + headroom <= this.limit - level.used;
  }

  charge(level: LogLevel, cost: number): LogLevel {
    if (cost === 0) return level;
    return { ...level, used: level.used + cost, left: Math.max(this.window, level.left), added: level.added + cost };
  }

  write(level: LogLevel, _now: number, log: Log = { instants: [], first: 0 }): Log {
    const { instants } = log;
    instants.length = level.end;
    for (let i = 0; i < level.added; i++) instants.push(level.stamp);
    log.first = level.first;
    if (log.first >= COMPACT && log.first * 2 >= instants.length) {
      log.instants = instants.slice(log.first); // after splice V8 would keep the memory of all
      log.first = 0;
    }
    return log;
  }

  expiresAt(level: LogLevel, now: number): number {
    return now + level.left;
  }

  remaining(level: LogLevel): number {
    return Math.max(0, this.limit - level.used);
  }

  resetAfter(level: LogLevel): number {
    return level.left;
  }

  retryAfter(level: LogLevel, cost: number): number {
    return level.expiry(level.used + cost - this.limit);
  }

  delay(): number {
    return 0;
  }
}
