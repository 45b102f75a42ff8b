import { randomInt } from 'node:crypto';
import { basename } from 'node:path';
import { expect } from '@jest/globals';
import type { Parameters } from 'fast-check';

const GIVEN = wholeNumber('HISTORIES');
/** Histories of each property: `HISTORIES=10000 npm test` for a long run. */
export const HISTORIES = GIVEN ?? 1_000;
/** `SEED=<printed number>` repeats a run. */
export const SEED = wholeNumber('SEED') ?? randomInt(2 ** 31);

// Jest loads this module once for each test file, so that every file prints its seed once.
process.stderr.write(`${basename(expect.getState().testPath ?? '')}: HISTORIES=${HISTORIES} SEED=${SEED}\n`);

/**
 * How often fast-check tries a property: `HISTORIES` times, with `SEED`.
 *
 * @param usual without `HISTORIES` in the environment: fewer for a property that takes long
 */
export function histories<T>(usual = HISTORIES): Parameters<T> {
  return { numRuns: GIVEN ?? usual, seed: SEED };
}

/** The time limit of the slower properties, which call Redis. */
export const HISTORY_TIMEOUT_MS = 30_000 + HISTORIES * 60;

function wholeNumber(variable: string): number | undefined {
  const text = process.env[variable];
  if (text === undefined || text === '') return undefined;
  if (/^\d+$/.test(text)) return Number(text);
  throw new Error(`${variable} must be a whole number, got ${text}`);
}
