import { availableParallelism } from 'node:os';
import { PATIENCE_MS } from '../riders/index.js';
import { UsageError, valuesOf } from '../../tools/command-line.js';
import { cityOf, scaleFor } from './city.js';

export interface SurgeOptions {
  /** Processes of the application. */
  readonly pods: number;
  readonly riders: number;
  /** Duration of each case. */
  readonly seconds: number;
  /** Divides the matching service, its limit and the default demand. */
  readonly scale: number;
  /** Requests per second that the riders would send if every request were served at once. */
  readonly demand: number;
  readonly seed: number;
  /** Places in the queue of the matching service. */
  readonly queue: number;
  /** How long a rider waits for an answer. */
  readonly patienceMs: number;
  /** Whether matching drops the work for riders who have left. */
  readonly cancel: boolean;
  /** Whether a long queue of matching serves the newest request first. */
  readonly newestFirst: boolean;
  readonly store: Store;
  /** Whether the tables and the setting follow the verdict. */
  readonly details: boolean;
  /** Whether the last line of the output is JSON. */
  readonly json: boolean;
  /** File for the HTML report; undefined: no report. */
  readonly report: string | undefined;
}

const STORES = ['redis', 'memory'] as const;

export type Store = (typeof STORES)[number];

export const USAGE = `npm run surge -- [options]

  --pods N          processes of the application (4)
  --riders N        simulated riders (2000)
  --seconds N       duration of each of the three cases (60)
  --scale N         divides the matching service, its limit and the demand
                    (6 on one core, 3 on two, 2 on three, 1 on four and more)
  --demand N        requests per second that riders would send if every request were served at once
                    (450 / scale)
  --seed N          riders of the same seed send the same requests (1)
  --queue N         places in the queue of the matching service (750 / scale)
  --patience-ms N   how long a rider waits for an answer (3000)
  --cancel          matching drops the work for riders who have left
  --newest-first    a long queue of matching serves the newest request first
  --store S         redis, or memory: each process counts for itself (redis)
  --quick           cases of 10 seconds: about a minute in all
  --details         prints the tables of all figures, and the setting, after the verdict
  --json            prints the figures as one line of JSON at the end
  --report FILE     writes an HTML page with the verdict and charts; it needs no network
  --help            prints this text
`;

/** Twice the time of a full queue, so that it shows what happens after that. */
const QUICK_SECONDS = 10;

/** Three times what matching holds. */
const DEMAND = 450;

const OPTIONS = {
  pods: { type: 'string' },
  riders: { type: 'string' },
  seconds: { type: 'string' },
  scale: { type: 'string' },
  demand: { type: 'string' },
  seed: { type: 'string' },
  queue: { type: 'string' },
  'patience-ms': { type: 'string' },
  store: { type: 'string' },
  report: { type: 'string' },
  cancel: { type: 'boolean' },
  'newest-first': { type: 'boolean' },
  quick: { type: 'boolean' },
  details: { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

type NumberOption = 'pods' | 'riders' | 'seconds' | 'scale' | 'demand' | 'seed' | 'queue' | 'patience-ms';

/**
 * Reads the command line.
 *
 * @param cores those of this machine, which the default of `--scale` depends on
 * @throws UsageError for an unknown option or a wrong value
 */
export function readOptions(args: readonly string[], cores = availableParallelism()): SurgeOptions {
  const given = valuesOf(OPTIONS, args);
  if (given.quick && given.seconds !== undefined)
    throw new UsageError('--quick and --seconds are both given: use only one of them');
  for (const [name, value] of Object.entries(given)) {
    if (value === '') throw new UsageError(`--${name} is empty: leave it out, or give it a value`);
  }
  const whole = (name: NumberOption, fallback: number, min: number, max: number): number => {
    const text = given[name];
    if (text === undefined) return fallback;
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw wrong(name, text, `a whole number from ${min} to ${max}`);
  };
  const { store: named = 'redis', quick = false, details = false, json = false, report } = given;
  const store = STORES.find((one) => one === named);
  if (store === undefined) throw wrong('store', named, '"redis" or "memory"');
  const scale = whole('scale', scaleFor(cores), 1, 100);
  return {
    pods: whole('pods', 4, 1, 64),
    riders: whole('riders', 2000, 1, 100_000),
    seconds: whole('seconds', quick ? QUICK_SECONDS : 60, 1, 3600),
    scale,
    demand: whole('demand', Math.round(DEMAND / scale), 1, 100_000),
    seed: whole('seed', 1, 0, 2 ** 31 - 1),
    queue: whole('queue', cityOf(scale).queue, 0, 1_000_000),
    patienceMs: whole('patience-ms', PATIENCE_MS, 1, 600_000),
    cancel: given.cancel ?? false,
    newestFirst: given['newest-first'] ?? false,
    store,
    details,
    json,
    report,
  };
}

function wrong(option: keyof typeof OPTIONS, value: string, expected: string): UsageError {
  return new UsageError(`--${option} is ${JSON.stringify(value)}, expected ${expected}`);
}
