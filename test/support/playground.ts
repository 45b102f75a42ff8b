import { type Arbitrary, array, constantFrom, integer, record, tuple } from 'fast-check';
import { RANGES, type Settings, SETTING_NAMES } from '../../libs/playground/model/settings.js';
import type { TrafficEvent, TrafficKind } from '../../libs/playground/model/traffic.js';

/** All numbers that the page's inputs take. */
export const anySettings: Arbitrary<Settings> = record(
  Object.fromEntries(
    SETTING_NAMES.map((name) => {
      const { min, max, step, factor } = RANGES[name];
      const steps = integer({ min: Math.round(min / step), max: Math.round(max / step) });
      return [name, steps.map((count) => Math.round(count * step * factor * 10) / 10)];
    }),
  ),
) as unknown as Arbitrary<Settings>;

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
