import { UsageError, valuesOf } from '../../tools/command-line.js';

/** The packages through which pods can use Redis. */
export type ChaosClient = 'ioredis' | 'redis';

export interface ChaosOptions {
  /** How many minutes of faults the run has. */
  readonly minutes: number;
  /** The seed of all random choices of the run. */
  readonly seed: number;
  /** The file for the result, which has the field names of Jest's results. */
  readonly json: string | undefined;
  /** The package through which the pods use Redis. */
  readonly client: ChaosClient;
}

export const USAGE = `npm run test:chaos -- [options]

  --minutes N   how long faults are injected, 0.7 to 120 (1); the start and the replay take some 15 seconds more
  --seed N      a whole number; the same seed plans the same faults (drawn and printed when it is not given)
  --client C    ioredis (default) or redis: the package through which the pods use Redis
  --json FILE   write the result, as numPassedTests and numFailedTests
  --help

It needs redis-server, and libfaketime for the clock of Redis: npm run setup.
`;

const OPTIONS = {
  minutes: { type: 'string' },
  seed: { type: 'string' },
  client: { type: 'string' },
  json: { type: 'string' },
} as const;

const MIN_MINUTES = 0.7;
const MAX_MINUTES = 120;
const MAX_SEED = 2 ** 31 - 1;

/** @throws {UsageError} with the option, the given value and the expected one */
export function readOptions(args: readonly string[]): ChaosOptions {
  const given = valuesOf(OPTIONS, args);
  const { minutes = '1', seed, client = 'ioredis', json } = given;
  if (!(/^\d+(\.\d+)?$/.test(minutes) && Number(minutes) >= MIN_MINUTES && Number(minutes) <= MAX_MINUTES)) {
    throw new UsageError(`--minutes must be a number from ${MIN_MINUTES} to ${MAX_MINUTES}, got '${minutes}'`);
  }
  if (seed !== undefined && !(/^\d+$/.test(seed) && Number(seed) <= MAX_SEED)) {
    throw new UsageError(`--seed must be a whole number from 0 to ${MAX_SEED}, got '${seed}'`);
  }
  if (client !== 'ioredis' && client !== 'redis') {
    throw new UsageError(`--client must be ioredis or redis, got '${client}'`);
  }
  const drawn = Math.floor(Math.random() * MAX_SEED);
  return { minutes: Number(minutes), seed: seed === undefined ? drawn : Number(seed), client, json };
}
