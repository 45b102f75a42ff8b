import { RIDER_LIMITS } from '../figures/checks.js';
import type { CaseFigures } from '../figures/figures.js';
import type { SurgeOptions } from '../options.js';
import { figure } from './text-table.js';
import type { Results } from './text-report.js';

/**
 * What the limits promise, and whether it was so. In-process stores promise it for one process: there the rider who gets a limit
 * from each is what is to be seen, and no failure.
 */
export function verdicts({ store, pods }: SurgeOptions, results: Results): { text: string; hold: boolean } {
  const all = Object.values<CaseFigures>(results);
  const doubles = all.reduce((sum, each) => sum + each.doubleMatched, 0);
  const over = all.reduce((sum, each) => sum + each.overAdmitted, 0);
  const { burst } = results.riders;
  const { capacity } = RIDER_LIMITS.rides;
  const one = `One rider's ${burst.sent} requests at once to ${pods} processes: ${burst.admitted} were let through, where the limit is ${capacity} and 10/s.`;
  const shared = `Riders admitted above capacity + refill x time over all processes: ${figure(over)}${over === 0 ? '' : ' too many'}.`;
  const alone = `Each process counts for itself, so that the limits hold for none of them together: ${figure(over)} requests too many were let through.`;
  return {
    text: [`Drivers matched to two riders: ${doubles}.`, store === 'redis' ? shared : alone, one].join('\n'),
    hold: doubles === 0 && (store === 'memory' || over === 0),
  };
}
