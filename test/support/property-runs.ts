import { randomInt } from 'node:crypto';
import type { Parameters } from 'fast-check';
import { LONG } from './long.js';

/** The part of the histories that a second run with another client of Redis tries. */
const PART = process.env['TEST_REDIS_CLIENT'] === undefined ? 1 : 0.2;
/** Histories of each property: 50 in `npm test`, 200 in `npm run test:all`, more with `HISTORIES=10000`. */
export const HISTORIES = wholeNumber('HISTORIES') ?? (LONG ? 200 : 50) * PART;

const COMMITTED_SEED = 1;
const asked = process.env['SEED'];
/** Draws the histories: the same in each run, with `SEED=<number>` others, and with `SEED=random` (`npm run test:all`) new ones. */
export const SEED = asked === 'random' ? randomInt(2 ** 31) : (wholeNumber('SEED') ?? COMMITTED_SEED);

/**
 * How often fast-check tries a property.
 *
 * @param share of `HISTORIES`: less than 1 for a property that takes long, more for one that is quick or rarely hit; default 1
 */
export function histories<T>(share = 1): Parameters<T> {
  return { numRuns: Math.ceil(HISTORIES * share) };
}

/** The time limit of the slower properties, which call Redis. Not below that of other tests: it, too, only ends what hangs. */
export const HISTORY_TIMEOUT_MS = 120_000 + HISTORIES * 60;

function wholeNumber(variable: string): number | undefined {
  const text = process.env[variable];
  if (text === undefined || text === '') return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  throw new Error(`${variable} must be a whole number${variable === 'SEED' ? " or 'random'" : ''}, got ${text}`);
}
