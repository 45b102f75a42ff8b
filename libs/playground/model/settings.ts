import { type Algorithm, headroomIn, parsePolicy, type Policy } from './library.js';

/** The numbers that a person can turn. Windows, durations and leases are milliseconds. */
export interface Settings {
  /** Of the token bucket and of the leaky bucket. */
  readonly capacity: number;
  /** Tokens or departures per second. */
  readonly refill: number;
  /** Of the windows. */
  readonly limit: number;
  readonly windowMs: number;
  /** Requests at once. */
  readonly atOnce: number;
  /** How long a request takes; only the concurrency minds. */
  readonly durationMs: number;
  readonly leaseMs: number;
}

export type SettingName = keyof Settings;

/** What a number input offers: in the unit that people read, which `factor` turns into that of the settings. */
export interface Range {
  readonly label: string;
  readonly unit: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly factor: number;
}

const MILLISECONDS = 1000;
/** Requests of a burst. */
const MAX_BURST = 100;

/** In the order of the page. The ranges keep pictures legible: the library takes far more. */
export const RANGES: Readonly<Record<SettingName, Range>> = {
  capacity: { label: 'Capacity', unit: '', min: 1, max: 60, step: 1, factor: 1 },
  refill: { label: 'Refill and drain', unit: '/s', min: 0.1, max: 20, step: 0.1, factor: 1 },
  limit: { label: 'Limit', unit: '', min: 1, max: 60, step: 1, factor: 1 },
  windowMs: { label: 'Window', unit: 's', min: 1, max: 60, step: 1, factor: MILLISECONDS },
  atOnce: { label: 'At once', unit: '', min: 1, max: 60, step: 1, factor: 1 },
  durationMs: { label: 'A request takes', unit: 's', min: 0.1, max: 30, step: 0.1, factor: MILLISECONDS },
  leaseMs: { label: 'Lease', unit: 's', min: 1, max: 60, step: 1, factor: MILLISECONDS },
};

export const SETTING_NAMES = Object.keys(RANGES) as readonly SettingName[];

export const DEFAULTS: Settings = {
  capacity: 10,
  refill: 1,
  limit: 10,
  windowMs: 10_000,
  atOnce: 3,
  durationMs: 2_000,
  leaseMs: 10_000,
};

/**
 * Reads a number that a person typed.
 *
 * @returns the value in the unit of the settings, or what is wrong with it
 */
export function readSetting(name: SettingName, text: string): number | string {
  return readNumber(RANGES[name], text);
}

/** Reads the requests of a burst from a link. */
export function readSize(text: string): number | string {
  return readNumber({ label: 'A burst', unit: 'requests', min: 1, max: MAX_BURST, step: 1, factor: 1 }, text);
}

function readNumber({ label, unit, min, max, step, factor }: Range, text: string): number | string {
  const given = text.trim() === '' ? Number.NaN : Number(text);
  const kind = step === 1 ? 'a whole number' : 'a number with at most one decimal';
  const isStep = Number.isInteger(Math.round((given / step) * 1e6) / 1e6);
  if (isStep && given >= min && given <= max) return Math.round((given / step) * (step * factor) * 1e6) / 1e6;
  const per = unit === '' ? '' : ` ${unit}`;
  return `${label} must be ${kind} from ${min} to ${max}${per}, got ${shownInput(text)}`;
}

function shownInput(text: string): string {
  if (text.trim() === '') return 'nothing';
  return text.length > 20 ? `'${text.slice(0, 20)}...'` : text;
}

/** A setting in the unit that people read. */
export function shownSetting(name: SettingName, value: number): string {
  return String(Math.round((value / RANGES[name].factor) * 1e6) / 1e6);
}

/** A duration as the library reads it. */
function duration(ms: number): string {
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
}

/** The policy of each row, in the order of the page. */
export function policiesOf({ capacity, refill, limit, windowMs, atOnce, leaseMs }: Settings): readonly Policy[] {
  const window = duration(windowMs);
  return [
    { algorithm: 'token-bucket', capacity, refill },
    { algorithm: 'leaky-bucket', capacity, drain: refill },
    { algorithm: 'fixed-window', limit, window },
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
  return parsePolicy(policy, 'playground').algorithm;
}

/** What requests of low priority may fill of a limit. A limit of 1 has nothing to keep free. */
function lowPart(limit: number): number {
  return limit === 1 ? 1 : 0.5;
}

/** What requests of low priority leave free of a limit. */
export function lowHeadroom(algorithm: Algorithm): number {
  return headroomIn(algorithm, lowPart(algorithm.limit));
}

/** The policy with the two classes of requests, for the decorator. */
export function withClasses(policy: Policy): Policy {
  return { ...policy, priorities: { high: 1, low: lowPart(algorithmOf(policy).limit) } };
}

/** The policy as a decorator, in the style of the documentation: `@RateLimit({ algorithm: 'token-bucket', ... })`. */
export function decoratorOf(policy: Policy): string {
  const options = Object.entries(policy).map(
    ([name, value]) => `${name}: ${typeof value === 'object' ? shownClasses(value as object) : shownValue(value)}`,
  );
  return `@RateLimit({ ${options.join(', ')} })`;
}

function shownClasses(classes: object): string {
  const parts = Object.entries(classes).map(([name, part]) => `${name}: ${String(part)}`);
  return `{ ${parts.join(', ')} }`;
}

function shownValue(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value);
}
