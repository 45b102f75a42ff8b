import { type Arbitrary, array, constantFrom, double, integer, oneof, record, string, tuple } from 'fast-check';
import { problemOf } from '../../demo/playground/model/code.js';
import { PRESETS } from '../../demo/playground/model/presets.js';
import {
  BYS,
  CALENDARS,
  MONTH_MS,
  RANGES,
  type SettingName,
  type Settings,
  SETTING_NAMES,
  type Unit,
  UNITS,
} from '../../demo/playground/model/settings.js';
import type { TrafficEvent, TrafficKind } from '../../demo/playground/model/traffic.js';

const anyUnit = constantFrom(...(Object.keys(UNITS) as Unit[]));

/** What an input takes: mostly what its slider shows, sometimes all sizes up to the library's bounds. */
function anyNumber(name: SettingName): Arbitrary<number> {
  const { min, max, step, slider, counts } = RANGES[name];
  const small = integer({ min: 1, max: Math.round(slider / step) });
  const large = double({ min: 0, max: Math.log(max / min), noNaN: true }).map((log) => (min * Math.exp(log)) / step);
  const inSteps = (steps: number): number => Math.round(Math.ceil(steps) * step * 10) / 10;
  const bounded = (value: number): number => Math.min(max, Math.max(min, value));
  if (counts !== 'time') return oneof(small, small, small, large).map((steps) => bounded(inSteps(steps)));
  const inUnits = tuple(small, anyUnit).map(([steps, unit]) => Math.round(inSteps(steps) * UNITS[unit]));
  const whole = large.map((ms) => Math.round((ms * step) / 100) * 100);
  return oneof(inUnits, inUnits, inUnits, whole).map(bounded);
}

/** All that the page's inputs take together. */
export const anySettings: Arbitrary<Settings> = record({
  ...(Object.fromEntries(SETTING_NAMES.map((name) => [name, anyNumber(name)])) as Record<
    SettingName,
    Arbitrary<number>
  >),
  calendar: constantFrom('none', 'none', 'none', ...CALENDARS),
  per: anyUnit,
  name: string({ maxLength: 12 }),
  by: constantFrom(...BYS),
  preset: constantFrom(...PRESETS.map(({ settings }) => settings.preset)),
})
  .map((settings) => (settings.calendar === 'none' ? settings : { ...settings, windowMs: MONTH_MS }))
  .filter((settings) => problemOf(settings) === undefined);

/** As many times as the window is longer than ten seconds: traffic that fits it. */
export function scaled(events: readonly TrafficEvent[], { windowMs }: Settings): readonly TrafficEvent[] {
  return events.map(({ at, kind }) => ({ at: Math.round(at * Math.max(1, windowMs / 10_000)), kind }));
}

const kinds = constantFrom<TrafficKind>('once', 'once', 'once', 'impatient', 'patient', 'low', 'crash');

/** Traffic of some seconds: bursts, streams and single events. */
export const anyEvents: Arbitrary<readonly TrafficEvent[]> = array(
  tuple(kinds, integer({ min: 0, max: 4_000 }), integer({ min: 0, max: 300 }), integer({ min: 1, max: 12 })),
  { maxLength: 12 },
).map((runs) => {
  let at = 0;
  return runs.flatMap(([kind, distance, step, count]) => {
    const first = at + distance;
    at = first + step * (count - 1);
    return Array.from({ length: count }, (_, i) => ({ at: first + step * i, kind }));
  });
});
