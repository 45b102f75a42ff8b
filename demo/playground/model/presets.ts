import type { Policy } from './library.js';
import { DEFAULTS, MONTH_MS, type Settings, UNITS } from './settings.js';
import { burst, edgeScript, type TrafficEvent, type TrafficKind } from './traffic.js';

/** A case that people know: the algorithm that fits, its numbers, and traffic that shows why. */
export interface Preset {
  readonly label: string;
  readonly story: string;
  /** Its row comes first. Undefined: none fits better than the others. */
  readonly algorithm?: Policy['algorithm'];
  /** Its `preset` is the name of the preset in links, which never changes. */
  readonly settings: Settings;
  readonly events: readonly TrafficEvent[];
  readonly now: number;
}

/** `count` events, `step` apart. */
function stream(at: number, count: number, step: number, kind: TrafficKind = 'once'): readonly TrafficEvent[] {
  return Array.from({ length: count }, (_, i) => ({ at: at + i * step, kind }));
}

function merged(...streams: readonly (readonly TrafficEvent[])[]): readonly TrafficEvent[] {
  return streams.flat().toSorted((a, b) => a.at - b.at);
}

function of(preset: string, by: Settings['by'], numbers: Partial<Settings>): Settings {
  return { ...DEFAULTS, preset, name: preset, by, ...numbers };
}

const { s, m, h, d } = UNITS;

/** The first one is what the page opens with. */
export const PRESETS: readonly Preset[] = [
  {
    label: 'All six',
    story: 'A burst, a calm trickle, then a limit on each side of a window’s edge: where the six differ.',
    settings: DEFAULTS,
    events: [...burst(1_500, 14), ...stream(3_500, 6, 900), ...edgeScript(3_000, 10, 10_000).events],
    now: 25_000,
  },
  {
    label: 'Login',
    story: 'A program guesses passwords. The log lets 5 pass in any 15 minutes; a fixed window lets 10 pass within 5.',
    algorithm: 'sliding-window-log',
    settings: of('login', 'ip', { capacity: 5, refill: 20, per: 'h', limit: 5, windowMs: 15 * m, atOnce: 1 }),
    events: stream(12 * m, 60, 30 * s),
    now: 44 * m,
  },
  {
    label: 'API plan',
    story: 'A dashboard opens with 15 calls at once. The bucket takes them, and holds the average at 100 an hour.',
    algorithm: 'token-bucket',
    settings: of('api', 'user', { capacity: 20, refill: 100, per: 'h', limit: 100, windowMs: h, atOnce: 5, pro: 10 }),
    events: merged(
      ...Array.from({ length: 5 }, (_, i) => burst((10 + i * 20) * m, 15)),
      stream(95 * m, 60, 20 * s),
      burst(2.5 * h, 15),
      burst(170 * m, 15),
    ),
    now: 175 * m,
  },
  {
    label: 'Expensive export',
    story: 'Someone clicks four times. Two exports run, the others are told at once; no rate says how many run.',
    algorithm: 'concurrency',
    settings: of('exports', 'user', {
      capacity: 4,
      refill: 4,
      per: 'm',
      limit: 4,
      windowMs: m,
      atOnce: 2,
      durationMs: 25 * s,
      leaseMs: 30 * s,
    }),
    events: merged(stream(8 * s, 4, 3 * s), stream(40 * s, 3, 8 * s), burst(95 * s, 4), stream(145 * s, 3, 5 * s)),
    now: 175 * s,
  },
  {
    label: 'Slow service',
    story:
      'A partner takes 2 requests a second. Bursts wait and leave evenly apart; background jobs (pale) leave half the queue free.',
    algorithm: 'leaky-bucket',
    settings: of('partner', 'global', { capacity: 10, refill: 2, limit: 20, durationMs: 500 }),
    events: merged(
      burst(2_000, 8),
      stream(8_000, 8, 250, 'low'),
      burst(12_000, 14),
      stream(19_000, 6, 600),
      burst(25_000, 6),
    ),
    now: 29_000,
  },
  {
    label: 'Monthly quota',
    story:
      'A script uses up the month in five days. The calendar says when the next one begins, to everybody the same day.',
    algorithm: 'fixed-window',
    settings: of('monthly', 'api-key', {
      capacity: 100,
      refill: 3.3,
      per: 'd',
      limit: 100,
      windowMs: MONTH_MS,
      calendar: 'month',
      pro: 10,
    }),
    events: merged(...[1, 2, 3, 4, 5].map((day) => stream(day * d, 24, h)), stream(8 * d, 78, d)),
    now: 87 * d,
  },
];

export const PRESET_NAMES = PRESETS.map(({ settings }) => settings.preset);

/** The preset that settings began as, and whether they still are all its own: else its story says too much. */
export function presetOf(settings: Settings): { readonly preset: Preset; readonly isCustomised: boolean } {
  const preset = PRESETS.find((one) => one.settings.preset === settings.preset)!;
  const names = Object.keys(DEFAULTS) as (keyof Settings)[];
  return { preset, isCustomised: names.some((name) => settings[name] !== preset.settings[name]) };
}
