import { RIDER_LIMITS } from '../figures/checks.js';
import type { CaseFigures } from '../figures/figures.js';
import type { SurgeOptions } from '../options.js';
import { figure } from './text-table.js';
import type { Results } from './text-report.js';

/**
 * Checks the promises of the limits.
 *
 * In-process stores keep the promises for one process only. Then a rider gets a limit from each process, which is no failure.
 * A process that decides because Redis is late may admit requests on top.
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
    `One rider's ${burst.sent} requests at once to ${pods} processes: ${burst.admitted} were admitted; the limit is ${capacity}, then ${refill}/s.`,
  ];
  if (store === 'memory') lines.push('Each process counts for itself: together they admit a multiple of every limit.');
  if (local > 0) {
    lines.push(
      `Redis was too late for ${figure(local)} decisions: the processes decided, each with its share of the limits.`,
    );
  }
  return { text: lines.join('\n'), hold: doubles === 0 && (store === 'memory' || over <= local) };
}
