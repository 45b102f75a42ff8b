import { mulberry32 } from '../../demo/riders/mulberry32.js';

/** A whole number from 0, below the bound. */
export type Random = (bound: number) => number;

/** Gives the same numbers for the same seed, in every process. */
export function randomOf(seed: number): Random {
  const next = mulberry32(seed);
  return (bound) => Math.floor(next() * bound);
}
