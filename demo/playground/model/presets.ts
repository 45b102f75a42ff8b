import type { Policy } from './library.js';
import { DEFAULTS, MONTH_MS, type Settings, UNITS } from './settings.js';
import { burst, edgeScript, type TrafficEvent, type TrafficKind } from './traffic.js';

type AlgorithmName = Policy['algorithm'];

/** A case that people know: a question, its answer, and the numbers and the traffic that show it. */
export interface Preset {
  readonly label: string;
  readonly question: string;
  readonly answer: string;
  /** The algorithm that fits, and one to compare it with. */
  readonly pair: readonly [AlgorithmName, AlgorithmName];
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
    label: 'Twice the limit',
    question: 'The limit is 10 in 10 seconds. Can 20 pass within one?',
    answer:
      'Not with the log, which counts any 10 seconds. A fixed window begins again at its edge: 10 pass just before it and 10 just after.',
    pair: ['sliding-window-log', 'fixed-window'],
    settings: DEFAULTS,
    events: [...stream(1_000, 5, 2_000), ...edgeScript(3_000, 10, 10_000).events],
    now: 25_000,
  },
  {
    label: 'Login',
    question: 'A program guesses passwords. How many guesses get through?',
    answer: 'The log lets 5 pass in any 15 minutes. A fixed window lets 10 pass within 5, around its edge.',
    pair: ['sliding-window-log', 'fixed-window'],
    settings: of('login', 'ip', { capacity: 5, refill: 20, per: 'h', limit: 5, windowMs: 15 * m, atOnce: 1 }),
    events: stream(12 * m, 60, 30 * s),
    now: 44 * m,
  },
  {
    label: 'API plan',
    question: 'A dashboard opens with 15 calls at once. Does the limit let them through?',
    answer:
      'The token bucket takes them at once, and holds the average at 100 an hour. The leaky bucket makes them wait.',
    pair: ['token-bucket', 'leaky-bucket'],
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
    question: 'Someone clicks four times. How many exports run at once?',
    answer: 'Two with the concurrency; the other clicks get a 429. A token bucket limits a rate: all four run.',
    pair: ['concurrency', 'token-bucket'],
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
    question: 'A partner takes 2 requests a second. What becomes of a burst?',
    answer:
      'In the leaky bucket it waits, and leaves evenly apart. The token bucket sends it at once. Background jobs (pale) fill half of either.',
    pair: ['leaky-bucket', 'token-bucket'],
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
    question: 'A script uses up the month in five days. When may it go on?',
    answer:
      'The fixed window of the calendar says: on the first, as for everybody. The token bucket lets it go on at once, three times a day.',
    pair: ['fixed-window', 'token-bucket'],
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

/** The preset that settings began as, and whether they still are all its own: else its answer says too much. */
export function presetOf(settings: Settings): { readonly preset: Preset; readonly isCustomised: boolean } {
  const preset = PRESETS.find((one) => one.settings.preset === settings.preset)!;
  const names = Object.keys(DEFAULTS) as (keyof Settings)[];
  return { preset, isCustomised: names.some((name) => settings[name] !== preset.settings[name]) };
}
