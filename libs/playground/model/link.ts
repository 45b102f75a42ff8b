import { DEFAULTS, readSetting, type Settings, SETTING_NAMES, type SettingName, shownSetting } from './settings.js';
import { MAX_EVENTS, MAX_TIME_MS, type TrafficEvent, type TrafficKind } from './traffic.js';

/** What a link holds: the numbers, the traffic, and the time at which the picture was shared (milliseconds). */
export interface Shared {
  readonly settings: Settings;
  readonly events: readonly TrafficEvent[];
  readonly now: number;
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
};
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
export function writeLink({ settings, events, now }: Shared): { readonly hash: string; readonly omitted: number } {
  const numbers = SETTING_NAMES.map((name) => `${KEYS[name]}=${shownSetting(name, settings[name])}`);
  const runs = runsOf(events);
  let omitted = 0;
  while (written(runs).length > MAX_TRAFFIC) omitted += runs.shift()!.count;
  const traffic = runs.length > 0 ? [`x=${written(runs)}`] : [];
  return { hash: `#${[`v=${VERSION}`, ...numbers, `t=${now}`, ...traffic].join('&')}`, omitted };
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
    const got = version === null ? 'none' : `'${version.slice(0, 20)}'`;
    return {
      shared: { settings: DEFAULTS, events: [], now: 0 },
      problems: [`its version must be ${VERSION}, got ${got}`],
    };
  }
  const problems: string[] = [];
  const settings: Record<SettingName, number> = { ...DEFAULTS };
  for (const name of SETTING_NAMES) {
    const value = given.get(KEYS[name]);
    if (value === null) continue;
    const read = readSetting(name, value);
    if (typeof read === 'string') problems.push(read);
    else settings[name] = read;
  }
  const { events, problem } = readTraffic(given.get('x') ?? '');
  if (problem !== undefined) problems.push(problem);
  const last = events.at(-1)?.at ?? 0;
  const time = given.get('t') ?? '0';
  const isTime = /^\d{1,8}$/.test(time) && Number(time) <= MAX_TIME_MS;
  if (!isTime) problems.push(`its time must be milliseconds from 0 to ${MAX_TIME_MS}, got '${time.slice(0, 20)}'`);
  return { shared: { settings, events, now: isTime ? Number(time) : last }, problems };
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

const RUN = /^([RPLX]?)([0-9a-z]{1,6})(?:-([0-9a-z]{1,6}))?(?:_([0-9a-z]{1,3}))?$/;

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
