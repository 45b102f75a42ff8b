import { type Algorithm, headroomIn, parsePolicy, type Policy } from './library.js';

/** Milliseconds of the units that the library reads. */
export const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export type Unit = keyof typeof UNITS;

export const BYS = ['client', 'ip', 'user', 'api-key', 'global'] as const;

export const CALENDARS = ['none', 'month'] as const;
/** The length of the other windows beside a month of the calendar, which only a fixed window counts. */
export const MONTH_MS = 30 * UNITS.d;

/** What a person can choose beside the traffic. Windows, durations and leases are milliseconds. */
export interface Settings {
  /** Of the token bucket and of the leaky bucket. */
  readonly capacity: number;
  /** Tokens or departures in each `per`. */
  readonly refill: number;
  readonly per: Unit;
  /** Of the windows. */
  readonly limit: number;
  readonly windowMs: number;
  /** What the fixed window counts instead of `windowMs`, which is `MONTH_MS` then. */
  readonly calendar: (typeof CALENDARS)[number];
  /** Requests at once. */
  readonly atOnce: number;
  /** How long a request takes; only the concurrency minds. */
  readonly durationMs: number;
  readonly leaseMs: number;
  /** How many times the limit clients of the plan `pro` get; 1: no plans. Like all below it changes no picture, but the code. */
  readonly pro: number;
  /** The policy's; `''`: none. */
  readonly name: string;
  readonly by: (typeof BYS)[number];
  /** The preset whose question the page asks. */
  readonly preset: string;
}

/** The settings that are numbers. */
export type SettingName = Exclude<keyof Settings, 'calendar' | 'per' | 'name' | 'by' | 'preset'>;

/** What a number input takes, in the unit of the settings. */
export interface Range {
  readonly label: string;
  /** What it counts; `'time'`: milliseconds, which people read and write in one of the units. */
  readonly counts: string;
  readonly min: number;
  readonly max: number;
  /** 1, or 0.1 of whatever unit a person chooses. */
  readonly step: number;
  /** Where the slider ends unless the number is larger, in the unit that a person chooses. */
  readonly slider: number;
}

/** What all six algorithms take. */
const MAX_COUNT = 1_000_000;
const time = { counts: 'time', step: 0.1, slider: 60 } as const;
const count = { min: 1, max: MAX_COUNT, step: 1, slider: 60 } as const;

/** In the order of the page. The upper bounds are the library's. */
export const RANGES: Readonly<Record<SettingName, Range>> = {
  capacity: { label: 'Capacity', counts: 'tokens', ...count },
  refill: { label: 'Refill and drain', counts: 'tokens', min: 0.1, max: MAX_COUNT, step: 0.1, slider: 20 },
  limit: { label: 'Limit', counts: 'requests', ...count },
  windowMs: { label: 'Window', ...time, min: 100, max: 18_262 * UNITS.d },
  atOnce: { label: 'At once', counts: 'requests', ...count },
  durationMs: { label: 'A request takes', ...time, min: 100, max: UNITS.d, slider: 30 },
  leaseMs: { label: 'Lease', ...time, min: 1_000, max: UNITS.d },
  pro: { label: 'Plan pro', ...count, counts: 'times', max: 1_000 },
};

export const SETTING_NAMES = Object.keys(RANGES) as readonly SettingName[];

export const DEFAULTS: Settings = {
  capacity: 10,
  refill: 1,
  per: 's',
  limit: 10,
  windowMs: 10_000,
  calendar: 'none',
  atOnce: 3,
  durationMs: 2_000,
  leaseMs: 10_000,
  pro: 1,
  name: '',
  by: 'client',
  preset: 'compare',
};

/**
 * Reads a number that a person typed.
 *
 * @param unit of a time
 * @returns the value in the unit of the settings, or what is wrong with it
 */
export function readSetting(name: SettingName, text: string, unit: Unit = 's'): number | string {
  return readNumber(RANGES[name], text, unit);
}

/** Reads the requests of a burst. */
export function readSize(text: string): number | string {
  return readNumber({ label: 'A burst', counts: 'requests', min: 1, max: 100, step: 1, slider: 100 }, text);
}

function readNumber(range: Range, text: string, unit: Unit = 's'): number | string {
  const { label, counts, min, max, step } = range;
  const given = text.trim() === '' ? Number.NaN : Number(text);
  const isStep = step === 1 ? Number.isInteger(given) : Number(given.toFixed(1)) === given;
  const value = counts === 'time' ? Math.round(given * UNITS[unit]) : given;
  if (isStep && value >= min && value <= max) return value;
  const kind = step === 1 ? 'a whole number' : 'a number with at most one decimal';
  const got = counts === 'time' && !Number.isNaN(given) ? `${shownInput(text)} ${unit}` : shownInput(text);
  return `${label} must be ${kind} from ${shownRange(range)}, got ${got}`;
}

function shownInput(text: string): string {
  if (text.trim() === '') return 'nothing';
  return text.length > 20 ? `'${text.slice(0, 20)}...'` : text;
}

/** What a number input takes, such as `1 to 1,000,000 tokens` or `1 s to 1 d`. */
export function shownRange({ counts, min, max }: Range): string {
  const shown = (value: number): string =>
    counts === 'time' && value >= UNITS.d
      ? `${(value / UNITS.d).toLocaleString('en-US')} d`
      : counts === 'time'
        ? `${value / UNITS.s} s`
        : value.toLocaleString('en-US');
  return `${shown(min)} to ${shown(max)}${counts === 'time' ? '' : ` ${counts}`}`;
}

/** A setting in the unit that people read. */
export function shownSetting(name: SettingName, value: number, unit: Unit = 's'): string {
  return String(RANGES[name].counts === 'time' ? value / UNITS[unit] : value);
}

/** The largest unit of which a time is a whole number; seconds where there is none. */
export function unitOf(ms: number): Unit {
  return (['d', 'h', 'm'] as const).find((unit) => ms % UNITS[unit] === 0) ?? 's';
}

/** A duration as the library reads it. */
export function duration(ms: number): string {
  const unit = unitOf(ms);
  return ms % UNITS[unit] === 0 ? `${ms / UNITS[unit]}${unit}` : `${ms}ms`;
}

/** The policy of each row, in the order of the page. */
export function policiesOf(settings: Settings): readonly Policy[] {
  const { capacity, refill, per, limit, windowMs, calendar, atOnce, leaseMs } = settings;
  const window = duration(windowMs);
  const fixed = calendar === 'none' ? window : ({ calendar, timeZone: 'UTC' } as const);
  const rate = per === 's' ? refill : (`${refill}/${per}` as const);
  return [
    { algorithm: 'token-bucket', capacity, refill: rate },
    { algorithm: 'leaky-bucket', capacity, drain: rate },
    { algorithm: 'fixed-window', limit, window: fixed },
    { algorithm: 'sliding-window-log', limit, window },
    { algorithm: 'sliding-window-counter', limit, window },
    { algorithm: 'concurrency', limit: atOnce, lease: duration(leaseMs) },
  ];
}

/**
 * The algorithm of a policy, made by the library's own parser.
 *
 * @throws {RateLimitConfigError} as the application's boot does
 */
export function algorithmOf(policy: Policy): Algorithm {
  return parsePolicy(policy, policy.algorithm).algorithm;
}

/** What requests of low priority may fill of a limit. A limit of 1 has nothing to keep free. */
export function lowPart(limit: number): number {
  return limit === 1 ? 1 : 0.5;
}

/** What requests of low priority leave free of a limit. */
export function lowHeadroom(algorithm: Algorithm): number {
  return headroomIn(algorithm, lowPart(algorithm.limit));
}
