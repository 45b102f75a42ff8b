import { type Algorithm, type AlgorithmName, type ChargeMark, isWhole, shareOfLimit } from './algorithm.js';
import { type AlgorithmDefinition, type OptionReader, readWindow } from './options.js';
import type { SharedTime } from './shared-time.js';

export const MAX_LIMIT = 1_000_000;
/** As LARGEST in the Lua file: one request adds an entry for each unit of its cost. */
export const MAX_COST = 1_000;

/** `{ algorithm: 'sliding-window-log', limit, window }` */
export const SLIDING_WINDOW_LOG = {
  name: 'sliding-window-log',
  options: ['limit', 'window'],
  create: (options: OptionReader): Algorithm => {
    const limit = options.whole('limit', MAX_LIMIT);
    return new SlidingWindowLog(limit, readWindow(options, 1), Math.min(limit, MAX_COST));
  },
  whyNotLent: 'it counts the instant of each request, which a token that is taken ahead does not have yet',
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
  readonly shardable: boolean = true;
  readonly rate: string;
  readonly wire: readonly number[];
  readonly replyLength: number = 3;
  readonly bytesPerCost = INSTANT_BYTES;
  readonly maxOverdraft = MAX_LIMIT;

  /** @param window length in microseconds */
  constructor(
    readonly limit: number,
    readonly window: number,
    readonly maxCost: number,
  ) {
    this.rate = String(window);
    this.wire = [limit, window];
  }

  describe(): string {
    return `limit ${this.limit}, window ${this.window / 1000} ms`;
  }

  share(processes: number, atLeast: number): SlidingWindowLog {
    if (processes === 1) return this;
    const limit = shareOfLimit(this.limit, processes, atLeast);
    return new SlidingWindowLog(limit, this.window, Math.min(limit, this.maxCost));
  }

  /** The state holds no limit, so its instants stay valid under another one. */
  localShare({ processes }: SharedTime, atLeast: number): SlidingWindowLog {
    return this.share(processes, atLeast);
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

  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    const used = reply[offset];
    const longest = used === 0 ? 0 : this.window + maxSkew;
    return (
      isWhole(used, 0) &&
      isWhole(reply[offset + 1], Number(used !== 0), longest) &&
      isWhole(reply[offset + 2], 0, this.window + maxSkew)
    );
  }

  decode(reply: readonly number[], offset: number): LogLevel {
    const wait = reply[offset + 2]!;
    // Redis keeps the instants. Its reply holds the one expiry that a rejection needs.
    return { used: reply[offset]!, left: reply[offset + 1]!, expiry: () => wait, first: 0, end: 0, added: 0, stamp: 0 };
  }

  fits(level: LogLevel, cost: number): boolean {
    return cost <= this.maxCost && cost <= this.limit - level.used;
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

  /** Removes as many entries of the charge's instant as the charge added. */
  refund(log: Log, _now: number, cost: number, { resetAt }: ChargeMark): number {
    const { instants } = log;
    const instant = resetAt - this.window;
    const end = upTo(instants, instant, log.first);
    const count = Math.min(cost, end - upTo(instants, instant - 1, log.first));
    if (count > 0) instants.splice(end - count, count);
    if (instants.length === log.first) instants.length = log.first = 0; // only expired ones are left
    return Math.max(0, count);
  }

  /** One settlement adds as many entries as one request, at most. */
  roomWithin({ used }: LogLevel, overdraft: number): number {
    return Math.min(MAX_COST, this.limit + overdraft - used);
  }

  /** Counts expired instants, too, until they are removed. */
  sizeOf(log: Log | undefined): number {
    return EMPTY_BYTES + (log === undefined ? 0 : log.instants.length * INSTANT_BYTES);
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

/** How many of `instants` are no later than `edge`, by bisection; the first `known` of them are. */
export function upTo(instants: readonly number[], edge: number, known: number): number {
  let low = known;
  let high = instants.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (instants[middle]! <= edge) low = middle + 1;
    else high = middle;
  }
  return low;
}
