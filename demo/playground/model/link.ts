import { problemOf } from './code.js';
import { PRESET_NAMES } from './presets.js';
import {
  BYS,
  CALENDARS,
  DEFAULTS,
  readSetting,
  SETTING_NAMES,
  type SettingName,
  type Settings,
  shownSetting,
  type Unit,
  UNITS,
} from './settings.js';
import { MAX_EVENTS, MAX_TIME_MS, type TrafficEvent, type TrafficKind } from './traffic.js';

/** What a link holds: the numbers, the traffic, and the time at which the picture was shared (milliseconds). */
export interface Shared {
  readonly settings: Settings;
  readonly events: readonly TrafficEvent[];
  readonly now: number;
  /** Where the picture begins, if it shows less than it could (milliseconds). */
  readonly from?: number;
  /** Whether it shows all six rows, and not only the two of its preset. */
  readonly isAll?: boolean;
}

const VERSION = '1';
/** Characters of the traffic in a link: some programs cut longer links off. */
const MAX_TRAFFIC = 4_000;
/** Their names in links never change. */
const KEYS: Readonly<Record<SettingName, string>> = {
  capacity: 'c',
  refill: 'r',
  limit: 'l',
  windowMs: 'w',
  atOnce: 'n',
  durationMs: 'd',
  leaseMs: 'e',
  pro: 'g',
};
const WORD_KEYS = { calendar: 'k', per: 'p', name: 'm', by: 'b', preset: 's' } as const;
const LETTERS: Readonly<Record<TrafficKind, string>> = { once: '', impatient: 'R', patient: 'P', low: 'L', crash: 'X' };
const KINDS = new Map(Object.entries(LETTERS).map(([kind, letter]) => [letter, kind as TrafficKind]));

/** Equal steps: `count` events from `at` on, `step` apart. */
interface Run {
  readonly kind: TrafficKind;
  readonly at: number;
  step: number;
  count: number;
}

/**
 * Writes a link's hash, such as `#v=1&c=10&r=1&l=10&w=10&n=3&d=2&e=10&t=8000&x=15o_e`.
 *
 * Traffic is a list of runs with `.` between them: a letter for the kind, the distance from the run before, then `-` and the step if
 * there is one, then `_` and the count if it is more than 1. Numbers are milliseconds of base 36.
 *
 * @returns the hash, and how many of the oldest events it left out to stay short
 */
export function writeLink({ settings, events, now, from, isAll }: Shared): {
  readonly hash: string;
  readonly omitted: number;
} {
  // Links of before had seven numbers. What came later is left out where it is as usual.
  const names = SETTING_NAMES.filter((name) => name !== 'pro' || settings.pro !== DEFAULTS.pro);
  const numbers = names.map((name) => `${KEYS[name]}=${shownSetting(name, settings[name])}`);
  const words = Object.entries(WORD_KEYS).flatMap(([name, key]) => {
    const word = settings[name as keyof typeof WORD_KEYS];
    return word === DEFAULTS[name as keyof typeof WORD_KEYS] ? [] : [`${key}=${escaped(word)}`];
  });
  const part = [...(from === undefined ? [] : [`f=${from}`]), ...(isAll ? ['a=1'] : [])];
  const runs = runsOf(events);
  let omitted = 0;
  while (written(runs).length > MAX_TRAFFIC) omitted += runs.shift()!.count;
  const traffic = runs.length > 0 ? [`x=${written(runs)}`] : [];
  return { hash: `#${[`v=${VERSION}`, ...numbers, ...words, ...part, `t=${now}`, ...traffic].join('&')}`, omitted };
}

/** Programs that find links in texts stop at some characters that `encodeURIComponent` leaves. */
function escaped(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*~]/g, (one) => `%${one.charCodeAt(0).toString(16)}`);
}

/**
 * Reads a link's hash.
 *
 * @returns what it holds, and what it could not make sense of: defaults stand for that; undefined without a hash
 */
export function readLink(hash: string): { readonly shared: Shared; readonly problems: readonly string[] } | undefined {
  const text = hash.replace(/^#/, '');
  if (text === '') return undefined;
  const given = new URLSearchParams(text);
  const version = given.get('v');
  if (version !== VERSION) {
    const problem = `its version must be ${VERSION}, got ${version === null ? 'none' : `'${version.slice(0, 20)}'`}`;
    return { shared: { settings: DEFAULTS, events: [], now: 0 }, problems: [problem] };
  }
  const problems: string[] = [];
  let settings: Settings = DEFAULTS;
  for (const name of SETTING_NAMES) {
    const value = given.get(KEYS[name]);
    if (value === null) continue;
    const read = readSetting(name, value);
    if (typeof read === 'string') problems.push(read);
    else settings = { ...settings, [name]: read };
  }
  /** One of some words: the first one unless the link has another. */
  const choice = <T extends string>(key: string, label: string, words: readonly T[]): T => {
    const value = given.get(key) ?? words[0]!;
    const word = words.find((one) => one === value);
    if (word === undefined)
      problems.push(`its ${label} must be one of ${words.join(', ')}, got '${value.slice(0, 20)}'`);
    return word ?? words[0]!;
  };
  settings = {
    ...settings,
    calendar: choice(WORD_KEYS.calendar, 'calendar', CALENDARS),
    per: choice(WORD_KEYS.per, 'unit of the rate', Object.keys(UNITS) as Unit[]),
    name: given.get(WORD_KEYS.name) ?? DEFAULTS.name,
    by: choice(WORD_KEYS.by, 'clients', BYS),
    preset: choice(WORD_KEYS.preset, 'preset', PRESET_NAMES),
  };
  const together = problemOf(settings);
  if (together !== undefined) {
    problems.push(together);
    settings = DEFAULTS;
  }
  const { events, problem: unread } = readTraffic(given.get('x') ?? '');
  if (unread !== undefined) problems.push(unread);
  const readTime = (key: string, most: number, usual: number): number => {
    const value = given.get(key) ?? '0';
    const isTime = /^\d{1,13}$/.test(value) && Number(value) <= most;
    if (!isTime) problems.push(`its time must be milliseconds from 0 to ${most}, got '${value.slice(0, 20)}'`);
    return isTime ? Number(value) : usual;
  };
  const now = readTime('t', MAX_TIME_MS, events.at(-1)?.at ?? 0);
  const from = given.has('f') ? { from: readTime('f', Math.max(0, now - 1), 0) } : {};
  const all = given.get('a') === '1' && { isAll: true };
  return { shared: { settings, events, now, ...from, ...all }, problems };
}

function runsOf(events: readonly TrafficEvent[]): Run[] {
  const runs: Run[] = [];
  for (const { at, kind } of events) {
    const run = runs.at(-1);
    if (run !== undefined && run.kind === kind) {
      if (run.count === 1) run.step = at - run.at;
      if (run.at + run.step * run.count === at) {
        run.count++;
        continue;
      }
    }
    runs.push({ kind, at, step: 0, count: 1 });
  }
  return runs;
}

function written(runs: readonly Run[]): string {
  let before = 0;
  const parts = runs.map(({ kind, at, step, count }) => {
    const distance = (at - before).toString(36);
    before = at + step * (count - 1);
    const steps = count > 1 && step > 0 ? `-${step.toString(36)}` : '';
    return `${LETTERS[kind]}${distance}${steps}${count > 1 ? `_${count.toString(36)}` : ''}`;
  });
  return parts.join('.');
}

const RUN = /^([RPLX]?)([0-9a-z]{1,9})(?:-([0-9a-z]{1,9}))?(?:_([0-9a-z]{1,3}))?$/;

/** Reads as many runs as it can. */
function readTraffic(text: string): { readonly events: readonly TrafficEvent[]; readonly problem?: string } {
  const events: TrafficEvent[] = [];
  let at = 0;
  if (text === '') return { events };
  for (const part of text.split('.', MAX_EVENTS + 1)) {
    const match = RUN.exec(part);
    if (match === null)
      return { events, problem: `its traffic ends before '${part.slice(0, 20)}', which is no traffic` };
    const [, letter = '', distance = '', step = '0', count = '1'] = match;
    at += Number.parseInt(distance, 36);
    for (let i = 0; i < Number.parseInt(count, 36); i++) {
      if (i > 0) at += Number.parseInt(step, 36);
      if (at > MAX_TIME_MS) return { events, problem: `its traffic ends at ${MAX_TIME_MS} ms, the longest timeline` };
      if (events.length === MAX_EVENTS)
        return { events, problem: `its traffic ends after ${MAX_EVENTS} events, the most` };
      events.push({ at, kind: KINDS.get(letter)! });
    }
  }
  return { events };
}
