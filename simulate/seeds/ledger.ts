import type { Asked } from './history.js';
import { exactly, isSure, type Range } from './oracle.js';

/** A policy beside the others, which is never full: it counts all that was charged. */
export const LEDGER = 'ledger';

/** What a plain charge counts: its cost, if it was allowed. Unless the process knows the answer, it may have been charged. */
export function ledgerRange(asked: Asked): Range {
  const { ask, decided } = asked;
  if (!isSure(asked)) return { least: 0, most: ask.cost };
  return exactly(decided!.value!.allowed ? ask.cost : 0);
}
