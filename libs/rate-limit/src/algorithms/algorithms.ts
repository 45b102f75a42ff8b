import { durationToMicroseconds } from './duration.js';
import { exactRate, type ExactRate } from './rate.js';
import type { Algorithm, AlgorithmName } from './algorithm.js';
import { FixedWindow } from './fixed-window.js';
import { LeakyBucket } from './leaky-bucket.js';
import { SlidingWindowCounter } from './sliding-window-counter.js';
import { SlidingWindowLog } from './sliding-window-log.js';
import { TokenBucket } from './token-bucket.js';

/** Reads the options of one policy; throws an error that names the option, what was given and what would be right. */
export interface OptionReader {
  readonly whole: (option: string, max: number) => number;
  readonly value: <T>(option: string, read: (given: unknown) => T | undefined, wanted: string) => T;
  readonly warn: (message: string) => void;
}

interface AlgorithmEntry {
  /** The options that this algorithm has beside those of every policy. */
  readonly options: readonly string[];
  readonly create: (options: OptionReader) => Algorithm;
}

const MAX_COUNT = 1_000_000_000_000;
const MAX_LOG = 1_000_000;
const MAX_LOG_COST = 1_000;
const HUNDRED_YEARS = 3_155_760_000_000_000;

function readRate(options: OptionReader, option: string, places: number): ExactRate {
  const rate = options.value(option, (given) => exactRate(given, places), '');
  if (rate.rounded) {
    options.warn(
      `${option} is rounded down to ${rate.tokens} per ${rate.microseconds} microseconds, to be counted exactly`,
    );
  }
  return rate;
}

function readWindow(options: OptionReader, limit: number): number {
  const longest = Math.min(HUNDRED_YEARS, Math.floor(2 ** 52 / limit));
  const read = (given: unknown): number | undefined => {
    const window = durationToMicroseconds(given);
    return window !== undefined && window >= 1000 && window <= longest ? window : undefined;
  };
  const wanted = `milliseconds or a duration such as '1m', from 1 ms to ${Math.floor(longest / 1000)} ms`;
  return options.value('window', read, wanted);
}

/**
 * Every algorithm there is, in the order of their numbers on the wire (`ALGORITHMS` in lua/bundle.js). A sixth is a line
 * here, a folder beside this file, and a file in lua/algorithms/.
 */
const ALGORITHMS: Readonly<Record<AlgorithmName, AlgorithmEntry>> = {
  'token-bucket': {
    options: ['capacity', 'refill'],
    create: (options) => {
      const capacity = options.whole('capacity', MAX_COUNT);
      return new TokenBucket(capacity, readRate(options, 'refill', capacity));
    },
  },
  'leaky-bucket': {
    options: ['capacity', 'drain'],
    create: (options) => {
      const capacity = options.whole('capacity', MAX_COUNT);
      return new LeakyBucket(capacity, readRate(options, 'drain', capacity + 1));
    },
  },
  'fixed-window': {
    options: ['limit', 'window'],
    create: (options) => {
      const limit = options.whole('limit', MAX_COUNT);
      return new FixedWindow(limit, readWindow(options, 1));
    },
  },
  'sliding-window-log': {
    options: ['limit', 'window'],
    create: (options) => {
      const limit = options.whole('limit', MAX_LOG);
      return new SlidingWindowLog(limit, readWindow(options, 1), Math.min(limit, MAX_LOG_COST));
    },
  },
  'sliding-window-counter': {
    options: ['limit', 'window'],
    create: (options) => {
      const limit = options.whole('limit', MAX_COUNT);
      return new SlidingWindowCounter(limit, readWindow(options, limit));
    },
  },
};

export const ALGORITHM_NAMES = Object.keys(ALGORITHMS) as readonly AlgorithmName[];

/** The entry of an algorithm's name, if there is such an algorithm. */
export function algorithmEntry(name: unknown): AlgorithmEntry | undefined {
  return typeof name === 'string' && Object.hasOwn(ALGORITHMS, name) ? ALGORITHMS[name as AlgorithmName] : undefined;
}

/** What an algorithm is called on the wire: its place in the registry, from 1. */
export function algorithmNumber(name: AlgorithmName): number {
  return ALGORITHM_NAMES.indexOf(name) + 1;
}
