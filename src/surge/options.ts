import { parseArgs } from 'node:util';
import { Environment } from '../config/environment.js';

export interface SurgeOptions {
  /** Processes of the application. */
  readonly pods: number;
  readonly riders: number;
  /** Of each case. */
  readonly seconds: number;
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
  --demand N        requests a second that riders would send if every answer came at once (600)
  --seed N          riders of the same seed ask for the same (1)
  --queue N         places in the queue of the matching service (1000)
  --patience-ms N   the longest wait in it (5000)
  --store S         redis, or memory: each process then counts for itself (redis)
  --quick           cases of 8 seconds: under a minute in all
  --json            ends with the figures as one line of JSON
  --report FILE     writes a page with charts, which needs nothing else
  --help
`;

const QUICK_SECONDS = 8;

/** What the command line says is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/**
 * @returns undefined when help is asked for
 * @throws UsageError
 */
export function readOptions(args: readonly string[]): SurgeOptions | undefined {
  const given = parse(args);
  if (given.help) return undefined;
  if (given.quick && given.seconds !== undefined)
    throw new UsageError('--quick and --seconds are both given: take one');
  const { pods, riders, seconds, demand, seed, queue, store } = given;
  const variables = new Environment({
    ...{ '--pods': pods, '--riders': riders, '--seconds': seconds, '--demand': demand, '--seed': seed },
    ...{ '--queue': queue, '--patience-ms': given['patience-ms'], '--store': store },
  });
  try {
    return {
      pods: variables.integer('--pods', 4, { min: 1, max: 64 }),
      riders: variables.integer('--riders', 2000, { min: 1, max: 100_000 }),
      seconds: variables.integer('--seconds', given.quick ? QUICK_SECONDS : 60, { min: 1, max: 3600 }),
      demand: variables.integer('--demand', 600, { min: 1, max: 100_000 }),
      seed: variables.integer('--seed', 1, { min: 0, max: 2 ** 31 - 1 }),
      queue: variables.integer('--queue', 1000, { min: 0, max: 1_000_000 }),
      patienceMs: variables.integer('--patience-ms', 5000, { min: 1, max: 600_000 }),
      store: variables.oneOf('--store', STORES),
      json: given.json ?? false,
      report: given.report,
    };
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

// eslint-disable-next-line typescript/explicit-function-return-type -- it is what parseArgs makes of it
function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        ...{ pods: text, riders: text, seconds: text, demand: text, seed: text, queue: text, 'patience-ms': text },
        ...{ store: text, quick: flag, json: flag, report: text, help: flag },
      },
    }).values;
  } catch (error) {
    // parseArgs goes on about positional arguments, of which there are none.
    throw new UsageError((error as Error).message.split('. ')[0]);
  }
}
