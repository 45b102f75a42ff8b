/** The units of calendar windows. A week begins on Monday, as in ISO 8601. */
export type CalendarUnit = 'day' | 'week' | 'month';

/**
 * A window as people have them: a day, a week from Monday or a month in a time zone.
 *
 * @example { algorithm: 'fixed-window', limit: 1_000, window: { calendar: 'month', timeZone: 'Europe/Paris' } }
 */
export interface CalendarWindow {
  /** The unit. */
  readonly calendar: CalendarUnit;
  /** A time zone of the IANA database, such as `'America/New_York'`. Default `'UTC'`. */
  readonly timeZone?: string;
}

const MILLISECONDS = 1000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The days that no window of the unit exceeds: a time zone can repeat a day when it moves across the date line. */
const LONGEST: Readonly<Record<CalendarUnit, number>> = { day: 2, week: 8, month: 32 };
const NOMINAL: Readonly<Record<CalendarUnit, number>> = { day: 1, week: 7, month: 30 };
/** Local midnight lies this long before and after midnight UTC at most: time zones are from UTC-12 to UTC+14. */
const EARLIEST_MS = 15 * HOUR_MS;
const LATEST_MS = 13 * HOUR_MS;

export const CALENDAR_UNITS = Object.keys(NOMINAL) as readonly CalendarUnit[];

/** Whether a value names a unit. */
export function isCalendarUnit(value: unknown): value is CalendarUnit {
  return CALENDAR_UNITS.includes(value as CalendarUnit);
}

/** The longest name of a time zone that is looked up. */
const MAX_ZONE_NAME = 64;

/**
 * The time zone of the IANA database that this process knows by a name, under one name: `'europe/paris'` is `'Europe/Paris'`,
 * and `'US/Eastern'` is `'America/New_York'`. Undefined for anything else, also for offsets such as `'+01:00'`, which only newer
 * versions of Node.js take.
 */
export function timeZoneNamed(name: unknown): string | undefined {
  if (typeof name !== 'string' || name.length > MAX_ZONE_NAME || /^[+-]/.test(name)) return undefined;
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}

/** Whether the time zone data of this process has a zone of this name. */
export function isTimeZone(name: unknown): name is string {
  return timeZoneNamed(name) !== undefined;
}

let zones: ReadonlySet<string> | undefined;

/** Every time zone that Node.js lists, and those of constant offsets, under one name: about 450. */
export function timeZones(): ReadonlySet<string> {
  if (zones === undefined) {
    // The list has none of constant offsets.
    const offsets = Array.from({ length: 27 }, (_, i) => `Etc/GMT${i < 14 ? '' : '+'}${i - 14}`);
    const all = ['UTC', ...Intl.supportedValuesOf('timeZone'), ...offsets];
    zones = new Set(all.flatMap((name) => timeZoneNamed(name) ?? []));
  }
  return zones;
}

/** The formats by zone: one takes some 20 kB, and the policies of many plans have the same zones. */
const formats = new Map<string, Intl.DateTimeFormat>();

function datesOf(timeZone: string): Intl.DateTimeFormat {
  const name = timeZoneNamed(timeZone) ?? timeZone;
  let dates = formats.get(name);
  if (dates === undefined) {
    dates = new Intl.DateTimeFormat('en-US-u-ca-gregory-nu-latn', {
      timeZone,
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
    });
    formats.set(name, dates);
  }
  return dates;
}

/**
 * The windows of a calendar in a time zone. A window begins with the first instant of its first local date, so that every
 * instant is in exactly one window, whatever the zone's clocks do at midnight.
 *
 * Instants are whole microseconds. The rules of time zones are those of the process (`process.versions.tz`).
 */
export class Calendar {
  /** The microseconds of a usual window: for what clients are told. */
  readonly nominal: number;
  /** The microseconds that no window exceeds. */
  readonly longest: number;
  /** Whole milliseconds: the windows before, around and after the instant that was asked for last. */
  private edges: readonly [number, number, number, number] = [0, 0, 0, 0];
  private readonly dates: Intl.DateTimeFormat;

  /** @throws {RangeError} when there is no such time zone */
  constructor(
    readonly unit: CalendarUnit,
    readonly timeZone: string,
  ) {
    this.nominal = NOMINAL[unit] * DAY_MS * MILLISECONDS;
    this.longest = LONGEST[unit] * DAY_MS * MILLISECONDS;
    this.dates = datesOf(timeZone);
  }

  /** The first microsecond of the window that holds `instant`. */
  startOf(instant: number): number {
    return this.around(instant)[1] * MILLISECONDS;
  }

  /** The first microsecond after the window that holds `instant`. */
  endOf(instant: number): number {
    return this.around(instant)[2] * MILLISECONDS;
  }

  /** The first microseconds of the previous window, of the one that holds `instant`, and of the next two. */
  edgesAround(instant: number): readonly number[] {
    return this.around(instant).map((edge) => edge * MILLISECONDS);
  }

  private around(instant: number): readonly [number, number, number, number] {
    const { edges } = this;
    const at = Math.floor(instant / MILLISECONDS);
    if (edges[1] <= at && at < edges[2]) return edges;
    let first = this.firstDay(this.dayOf(at), 0);
    // A zone whose clocks go back across midnight has a date twice. The second time belongs to the window that has begun.
    while (this.begin(this.firstDay(first, 1)) <= at) first = this.firstDay(first, 1);
    this.edges = [
      this.begin(this.firstDay(first, -1)),
      this.begin(first),
      this.begin(this.firstDay(first, 1)),
      this.begin(this.firstDay(first, 2)),
    ];
    return this.edges;
  }

  /** The first day of a window: of the one that holds `day`, or of one `later` windows after it. Days count from 1970-01-01. */
  private firstDay(day: number, later: number): number {
    if (this.unit === 'day') return day + later;
    if (this.unit === 'week') return day - ((((day + 3) % 7) + 7) % 7) + 7 * later; // 1970-01-01 was a Thursday
    const date = new Date(day * DAY_MS);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1) / DAY_MS;
  }

  /** The first millisecond at which the local date is `day` or later, by bisection: no rule of a time zone is needed. */
  private begin(day: number): number {
    let before = day * DAY_MS - EARLIEST_MS;
    let from = day * DAY_MS + LATEST_MS;
    while (from - before > 1) {
      const middle = Math.floor((before + from) / 2);
      if (this.dayOf(middle) >= day) from = middle;
      else before = middle;
    }
    return Math.max(0, from); // states hold no instants before 1970
  }

  /** The local date, as days since 1970-01-01. */
  private dayOf(at: number): number {
    let [year, month, day] = [0, 0, 0];
    for (const { type, value } of this.dates.formatToParts(at)) {
      if (type === 'year') year = Number(value);
      else if (type === 'month') month = Number(value);
      else if (type === 'day') day = Number(value);
    }
    return Date.UTC(year, month - 1, day) / DAY_MS;
  }
}
