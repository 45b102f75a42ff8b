import { parseArgs } from 'node:util';
import { Environment } from '../config/environment.js';

export interface SurgeOptions {
  /** Processes of the application. */
  readonly pods: number;
  readonly riders: number;
  /** Of each case. */
  readonly seconds: number;
  /** The matching service, its limit and the demand are those of the application as it comes, divided by this. */
  readonly scale: number;
  /** Requests a second that the riders would send if every answer came at once. */
  readonly demand: number;
  readonly seed: number;
  /** Of the matching service. */
  readonly queue: number;
  readonly patienceMs: number;
  readonly store: Store;
  /** Whether the last line is JSON. */
  readonly json: boolean;
  /** Where an HTML report goes. */
  readonly report: string | undefined;
}

const STORES = ['redis', 'memory'] as const;

export type Store = (typeof STORES)[number];

export const USAGE = `npm run surge -- [options]

  --pods N          processes of the application (4)
  --riders N        simulated riders (2000)
  --seconds N       of each of the three cases (60)
  --scale N         divides the matching service, its limit and the demand, for a small machine (3)
  --demand N        requests a second that riders would send if every answer came at once (660 / scale)
  --seed N          riders of the same seed ask for the same (1)
  --queue N         places in the queue of the matching service (1000)
  --patience-ms N   the longest wait in it (10000; quick: 4000)
  --store S         redis, or memory: each process then counts for itself (redis)
  --quick           cases of 7 seconds: under a minute in all
  --json            ends with the figures as one line of JSON
  --report FILE     writes a page with charts, which needs nothing else
  --help
`;

const QUICK_SECONDS = 7;
const QUICK_PATIENCE_MS = 4000;

/** What the limit lets through, more than four times. */
const DEMAND = 660;

/** What the command line says is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

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
  quick: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const;

/**
 * @returns undefined when help is asked for
 * @throws UsageError
 */
export function readOptions(args: readonly string[]): SurgeOptions | undefined {
  const given = parse(args);
  if (given.help) return undefined;
  if (given.quick && given.seconds !== undefined)
    throw new UsageError('--quick and --seconds are both given: take one');
  const texts: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === '') throw new UsageError(`--${name} is empty: leave it out, or give it a value`);
    if (typeof value === 'string') texts[`--${name}`] = value;
  }
  try {
    return checked(new Environment(texts), given.quick ?? false, { json: given.json ?? false, report: given.report });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

/** Arguments are checked as variables of the environment are, with the same errors. */
function checked(given: Environment, quick: boolean, rest: Pick<SurgeOptions, 'json' | 'report'>): SurgeOptions {
  const scale = given.integer('--scale', 3, { min: 1, max: 100 });
  return {
    pods: given.integer('--pods', 4, { min: 1, max: 64 }),
    riders: given.integer('--riders', 2000, { min: 1, max: 100_000 }),
    seconds: given.integer('--seconds', quick ? QUICK_SECONDS : 60, { min: 1, max: 3600 }),
    scale,
    demand: given.integer('--demand', Math.round(DEMAND / scale), { min: 1, max: 100_000 }),
    seed: given.integer('--seed', 1, { min: 0, max: 2 ** 31 - 1 }),
    queue: given.integer('--queue', 1000, { min: 0, max: 1_000_000 }),
    patienceMs: given.integer('--patience-ms', quick ? QUICK_PATIENCE_MS : 10_000, { min: 1, max: 600_000 }),
    store: given.oneOf('--store', STORES),
    ...rest,
  };
}

function parse(args: readonly string[]): ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>['values'] {
  try {
    return parseArgs({ args: [...args], options: OPTIONS }).values;
  } catch (error) {
    // parseArgs goes on about positional arguments, of which there are none.
    throw new UsageError((error as Error).message.split('. ')[0]);
  }
}
