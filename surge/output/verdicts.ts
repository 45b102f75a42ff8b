import { RIDER_LIMITS } from '../figures/checks.js';
import type { CaseFigures } from '../figures/figures.js';
import type { SurgeOptions } from '../options.js';
import { figure } from './text-table.js';
import type { Results } from './text-report.js';

/**
 * What the limits promise, and whether it was so. In-process stores promise it for one process: there the rider who gets a limit
 * from each is what is to be seen, and no failure. What a process has decided because Redis was late it may have admitted on top.
 */
export function verdicts({ store, pods }: SurgeOptions, results: Results): { text: string; hold: boolean } {
  const all = Object.values<CaseFigures>(results);
  const sum = (of: (figures: CaseFigures) => number): number => all.reduce((total, each) => total + of(each), 0);
  const doubles = sum(({ doubleMatched }) => doubleMatched);
  const over = sum(({ overAdmitted }) => overAdmitted);
  const local = store === 'redis' ? sum(({ decidedLocally }) => decidedLocally) : 0;
  const { burst } = results.riders;
  const { capacity, refill } = RIDER_LIMITS.rides;
  const lines = [
    `Drivers matched to two riders: ${doubles}.`,
    `Requests admitted above capacity + refill x time over all processes: ${figure(over)}.`,
    `One rider's ${burst.sent} requests at once to ${pods} processes: ${burst.admitted} were let through; the limit is ${capacity}, then ${refill}/s.`,
  ];
  if (store === 'memory')
    lines.push('Each process counts for itself: together they let through a multiple of every limit.');
  if (local > 0) {
    lines.push(
      `Redis was too late for ${figure(local)} decisions: processes made them, each with its share of the limits.`,
    );
  }
  return { text: lines.join('\n'), hold: doubles === 0 && (store === 'memory' || over <= local) };
}
