import type { Algorithm } from '../core/algorithm.js';
import { Calendar, CALENDAR_UNITS, isCalendarUnit, isTimeZone } from './calendar.js';
import {
  type AlgorithmDefinition,
  MAX_COUNT,
  OptionProblem,
  type OptionReader,
  readWindow,
  windowOfRate,
} from '../core/options.js';
import { nameShown, shown } from '../../util/config-error.js';
import { didYouMean } from '../../util/nearest-name.js';
import { CountedOverdraft } from '../core/overdraft.js';
import { LimitShares, type Shares } from '../core/shares.js';
import { STATE_FOOTPRINT } from '../core/footprint.js';
import { WindowPrefetch } from '../core/prefetch.js';
import { FixedWindowRefunds } from './refunds.js';
import { CalendarWire, FixedWindowWire } from './wire.js';

/** `{ algorithm: 'fixed-window', limit, window, align }` */
export const FIXED_WINDOW = {
  name: 'fixed-window',
  options: ['limit', 'window', 'align'],
  create: (options: OptionReader): Algorithm => {
    const limit = options.whole('limit', MAX_COUNT);
    const calendar = options.value('window', readCalendar, '');
    if (calendar !== 'none') {
      options.value('align', (align = 'clock') => align === 'clock' || undefined, "'clock' where window is a calendar");
      return new CalendarWindows(limit, calendar, options.value('window', hasZoneOfRequest, ''));
    }
    const Windows = options.value('align', windowsOf, "'clock' or 'first-request'");
    return new Windows(limit, readWindow({ ...options, takesCalendars: true }, 1));
  },
  withPrefetch: (windows): Algorithm => windows,
  ofRate: (limit, rate): Algorithm | undefined => {
    const [unit, zone] = rate.split('@', 2);
    if (isCalendarUnit(unit))
      return isTimeZone(zone) ? new CalendarWindows(limit, new Calendar(unit, zone)) : undefined;
    const window = windowOfRate(unit!, 1);
    if (window === undefined) return undefined;
    if (zone === undefined) return new FixedWindow(limit, window);
    return zone === FIRST ? new FirstRequestWindows(limit, window) : undefined;
  },
} as const satisfies AlgorithmDefinition;

/** The mark of `FirstRequestWindows` in keys, behind the length: a state means something else under the other alignment. */
const FIRST = 'first';

function windowsOf(align: unknown = 'clock'): typeof FixedWindow | undefined {
  return align === 'clock' ? FixedWindow : align === 'first-request' ? FirstRequestWindows : undefined;
}

/** Common spellings of the units. */
const UNITS_IN_WORDS: ReadonlyMap<string, string> = new Map([
  ['daily', 'day'],
  ['weekly', 'week'],
  ['monthly', 'month'],
]);

/** The calendar that `window` names; `'none'` where it is a duration. */
function readCalendar(window: unknown): Calendar | 'none' {
  if (typeof window !== 'object' || window === null) return 'none';
  const { calendar, timeZone = 'UTC', ...rest } = window as Readonly<Record<string, unknown>>;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new OptionProblem(
      `has no option ${nameShown(unknown)}.${didYouMean(unknown, ['calendar', 'timeZone'], (name) => name)} It must have calendar and may ` +
        `have timeZone`,
    );
  }
  if (!isCalendarUnit(calendar)) {
    const word = typeof calendar === 'string' ? (UNITS_IN_WORDS.get(calendar) ?? calendar) : undefined;
    const guess = didYouMean(word, CALENDAR_UNITS);
    throw new OptionProblem(
      `must have calendar: 'day', 'week' or 'month', got calendar: ${shown(calendar)}${guess && `.${guess}`}`,
    );
  }
  // Each zone has an algorithm of its own. This one is for requests whose function fails.
  if (typeof timeZone === 'function') return new Calendar(calendar, 'UTC');
  if (!isTimeZone(timeZone)) {
    const guess = didYouMean(timeZone, Intl.supportedValuesOf('timeZone'));
    throw new OptionProblem(
      `must have a timeZone of the IANA database, such as 'America/New_York', a function of the request that returns one, or none for ` +
        `UTC, got timeZone: ${shown(timeZone)}${guess && `.${guess}`}`,
    );
  }
  return new Calendar(calendar, timeZone);
}

function hasZoneOfRequest(window: unknown): boolean {
  return typeof (window as { readonly timeZone?: unknown }).timeZone === 'function';
}

export interface Window {
  /** The window's first microsecond. */
  start: number;
  count: number;
}

export interface WindowLevel {
  readonly count: number;
  /** Microseconds until the window ends. */
  readonly left: number;
}

/**
 * Fixed window: admits at most `limit` in each window; windows are aligned to the clock, to a calendar or to first
 * requests. It is cheap and easy to explain, but twice the limit can pass around a window's edge. Source: the `INCR` pattern
 * "Rate limiter 1" of the Redis documentation.
 */
export class FixedWindow implements Algorithm<WindowLevel, Window> {
  readonly name = 'fixed-window';
  readonly code = 'fw';
  readonly delays = false;
  readonly refills = false;
  readonly maxCost: number;
  readonly rate: string;
  readonly wire: FixedWindowWire;
  readonly shares: Shares = new LimitShares(this);
  readonly refunds = new FixedWindowRefunds(this);
  readonly overdraft = new CountedOverdraft<WindowLevel>(this, MAX_COUNT);
  readonly prefetch = new WindowPrefetch();
  readonly footprint = STATE_FOOTPRINT;

  /** @param window length in microseconds */
  constructor(
    readonly limit: number,
    readonly window: number,
  ) {
    this.maxCost = limit;
    this.rate = String(window);
    this.wire = new FixedWindowWire([limit, window], window);
  }

  describe(): string {
    return `limit ${this.limit}, window ${this.window / 1000} ms`;
  }

  isAhead(state: Window, now: number, maxSkew: number): boolean {
    return state.start > now + maxSkew;
  }

  read(state: Window | undefined, now: number, maxSkew: number): WindowLevel {
    const start = this.startOf(now);
    if (state === undefined || (state.start < start && this.endOf(state.start) <= now)) {
      return { count: 0, left: this.endOf(start) - now };
    }
    // A window stands to its end, and never moves back. If it lies ahead by at most the skew, it continues. If it lies further
    // ahead, its count moves to the current window.
    const current = this.isAhead(state, now, maxSkew) ? start : state.start;
    return { count: state.count, left: this.endOf(current) - now };
  }

  fits(level: WindowLevel, cost: number, headroom = 0): boolean {
    return cost + headroom <= this.limit - level.count;
  }

  charge(level: WindowLevel, cost: number): WindowLevel {
    return { count: level.count + cost, left: level.left };
  }

  write(level: WindowLevel, now: number, state: Window = { start: 0, count: 0 }): Window {
    state.start = this.startBefore(now + level.left);
    state.count = level.count;
    return state;
  }

  expiresAt(level: WindowLevel, now: number): number {
    return now + level.left;
  }

  used({ count }: WindowLevel): number {
    return count;
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

  /** The first microsecond of the window that holds `instant`, where none stands. */
  protected startOf(instant: number): number {
    return instant - (instant % this.window);
  }

  /** The end of the window that begins at `start`. */
  endOf(start: number): number {
    return start + this.window;
  }

  /** The first microsecond of the window that ends at `end`. */
  protected startBefore(end: number): number {
    return end - this.window;
  }

  withLimit(limit: number): FixedWindow {
    return new FixedWindow(limit, this.window);
  }
}

/** Fixed windows that begin with the first request that is charged after the last one has ended. */
export class FirstRequestWindows extends FixedWindow {
  override readonly rate: string;
  override readonly wire: FixedWindowWire;

  constructor(limit: number, window: number) {
    super(limit, window);
    this.rate = `${window}@${FIRST}`;
    this.wire = new FixedWindowWire([limit, window, 1], window);
  }

  override describe(): string {
    return `${super.describe()} from the first request`;
  }

  protected override startOf(instant: number): number {
    return instant;
  }

  override withLimit(limit: number): FirstRequestWindows {
    return new FirstRequestWindows(limit, this.window);
  }
}

/** Fixed windows that begin with a day, a week or a month of a time zone. */
export class CalendarWindows extends FixedWindow {
  /** The rate in keys, which names the time zone: a count is only valid for windows of the same zone. */
  override readonly rate: string;
  override readonly wire: CalendarWire;

  /** @param zoneOfRequest whether a function of the request says the zone, for messages */
  constructor(
    limit: number,
    private readonly calendar: Calendar,
    private readonly zoneOfRequest = false,
  ) {
    super(limit, calendar.nominal);
    this.rate = `${calendar.unit}@${calendar.timeZone}`;
    this.wire = new CalendarWire(limit, calendar);
  }

  override describe(): string {
    const zone = this.zoneOfRequest ? "the request's time zone" : this.calendar.timeZone;
    return `limit ${this.limit}, window ${this.calendar.unit} in ${zone}`;
  }

  protected override startOf(instant: number): number {
    return this.calendar.startOf(instant);
  }

  override endOf(start: number): number {
    return this.calendar.endOf(start);
  }

  protected override startBefore(end: number): number {
    return this.calendar.startOf(end - 1);
  }

  override withLimit(limit: number): CalendarWindows {
    return new CalendarWindows(limit, this.calendar, this.zoneOfRequest);
  }
}
