import { type Algorithm, type ChargeMark, isWhole, shareOfLimit } from './algorithm.js';
import { Calendar, isCalendarUnit, isTimeZone } from './calendar.js';
import { type AlgorithmDefinition, MAX_COUNT, type OptionReader, readWindow } from './options.js';
import type { SharedTime } from './shared-time.js';

/** `{ algorithm: 'fixed-window', limit, window }` */
export const FIXED_WINDOW = {
  name: 'fixed-window',
  options: ['limit', 'window'],
  create: (options: OptionReader): Algorithm => {
    const limit = options.whole('limit', MAX_COUNT);
    const calendar = options.value('window', readCalendar, '');
    if (calendar === 'none') return new FixedWindow(limit, readWindow(options, 1));
    return new CalendarWindows(limit, calendar, options.value('window', hasZoneOfRequest, ''));
  },
  lend: (windows): Algorithm => windows,
} as const satisfies AlgorithmDefinition;

/** The calendar that `window` names; `'none'` where it is a duration. */
function readCalendar(window: unknown): Calendar | 'none' {
  if (typeof window !== 'object' || window === null) return 'none';
  const { calendar, timeZone = 'UTC', ...rest } = window as Readonly<Record<string, unknown>>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined)
    throw new TypeError(`has no option ${unknown}: it must have calendar and may have timeZone`);
  if (!isCalendarUnit(calendar)) throw new TypeError("must have calendar: 'day', 'week' or 'month'");
  // Each request's zone makes another algorithm. This one counts where its function fails.
  if (typeof timeZone === 'function') return new Calendar(calendar, 'UTC');
  if (!isTimeZone(timeZone)) {
    throw new TypeError(
      "must have a timeZone of the IANA database, such as 'America/New_York', a function of the request that returns one, or none for UTC",
    );
  }
  return new Calendar(calendar, timeZone);
}

function hasZoneOfRequest(window: unknown): boolean {
  return typeof (window as { readonly timeZone?: unknown }).timeZone === 'function';
}

interface Window {
  /** The window's first microsecond. */
  start: number;
  count: number;
}

interface WindowLevel {
  readonly count: number;
  /** Microseconds until the window ends. */
  readonly left: number;
}

/**
 * Fixed window: admits at most `limit` in each window; windows are aligned to the clock, or to a calendar. It is cheap and easy
 * to explain, but twice the limit can pass around a window's edge. Source: the `INCR` pattern "Rate limiter 1" of the Redis
 * documentation.
 */
export class FixedWindow implements Algorithm<WindowLevel, Window> {
  readonly name = 'fixed-window';
  readonly code = 'fw';
  readonly delays = false;
  readonly refills = false;
  readonly shardable = true;
  readonly maxCost: number;
  readonly rate: string;
  readonly wire: readonly number[];
  readonly replyLength = 2;
  readonly bytesPerCost = 0;
  readonly maxOverdraft = MAX_COUNT;

  /** @param window length in microseconds */
  constructor(
    readonly limit: number,
    readonly window: number,
  ) {
    this.maxCost = limit;
    this.rate = String(window);
    this.wire = [limit, window];
  }

  describe(): string {
    return `limit ${this.limit}, window ${this.window / 1000} ms`;
  }

  share(processes: number, atLeast: number): FixedWindow {
    if (processes === 1) return this;
    const limit = shareOfLimit(this.limit, processes, atLeast);
    return new FixedWindow(limit, this.window);
  }

  /** The state holds no limit, so its count stays valid under another one. */
  localShare({ processes }: SharedTime, atLeast: number): FixedWindow {
    return this.share(processes, atLeast);
  }

  isAhead(state: Window, now: number, maxSkew: number): boolean {
    return state.start > now + maxSkew;
  }

  read(state: Window | undefined, now: number, maxSkew: number): WindowLevel {
    const start = this.startOf(now);
    if (state === undefined || state.start < start) return { count: 0, left: this.endOf(start) - now };
    // A window never goes back: it goes on if it lies ahead by the skew at most. Further ahead, its count moves here.
    const current = this.isAhead(state, now, maxSkew) ? start : state.start;
    return { count: state.count, left: this.endOf(current) - now };
  }

  isLevel(reply: readonly unknown[], offset: number, maxSkew: number): boolean {
    return isWhole(reply[offset], 0) && isWhole(reply[offset + 1], 1, this.longest + maxSkew);
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
    state.start = this.startBefore(now + level.left);
    state.count = level.count;
    return state;
  }

  /** Refunds a charge of the current window only. */
  refund(state: Window, now: number, cost: number, { resetAt }: ChargeMark): number {
    if (this.endOf(state.start) !== resetAt || now >= resetAt) return 0;
    const refunded = Math.min(cost, state.count);
    state.count -= refunded;
    return refunded;
  }

  roomWithin(level: WindowLevel, overdraft: number): number {
    return this.limit + overdraft - level.count;
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

  leasedFor(resetAfter: number): number {
    return resetAfter;
  }

  /** The first microsecond of the window that holds `instant`. */
  protected startOf(instant: number): number {
    return instant - (instant % this.window);
  }

  /** The end of the window that begins at `start`. */
  protected endOf(start: number): number {
    return start + this.window;
  }

  /** The first microsecond of the window that ends at `end`. */
  protected startBefore(end: number): number {
    return end - this.window;
  }

  /** The microseconds that no window exceeds. */
  protected get longest(): number {
    return this.window;
  }
}

/** Fixed windows that begin with a day, a week or a month of a time zone. */
export class CalendarWindows extends FixedWindow {
  /** It names the zone, whose edges the state's windows have: under those of another zone its count would mean nothing. */
  override readonly rate: string;

  /** @param zoneOfRequest whether a function of the request says the zone, for messages */
  constructor(
    limit: number,
    private readonly calendar: Calendar,
    private readonly zoneOfRequest = false,
  ) {
    super(limit, calendar.nominal);
    this.rate = `${calendar.unit}@${calendar.timeZone}`;
  }

  override describe(): string {
    const zone = this.zoneOfRequest ? "the request's time zone" : this.calendar.timeZone;
    return `limit ${this.limit}, window ${this.calendar.unit} in ${zone}`;
  }

  override share(processes: number, atLeast: number): CalendarWindows {
    if (processes === 1) return this;
    return new CalendarWindows(shareOfLimit(this.limit, processes, atLeast), this.calendar, this.zoneOfRequest);
  }

  /** Redis has no time zones. It gets the edges of the windows around `now`, and decides by its own clock between them. */
  wireAt(now: number): readonly number[] {
    return [this.limit, 0, ...this.calendar.edgesAround(now)];
  }

  protected override startOf(instant: number): number {
    return this.calendar.startOf(instant);
  }

  protected override endOf(start: number): number {
    return this.calendar.endOf(start);
  }

  protected override startBefore(end: number): number {
    return this.calendar.startOf(end - 1);
  }

  protected override get longest(): number {
    return this.calendar.longest;
  }
}
