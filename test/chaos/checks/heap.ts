import type { ProcessHistory } from '../history.js';
import type { Failure, Run, Verdict } from './check.js';

/** The growth that a process may show at the end: caches fill, code is compiled. */
const ALLOWED_BYTES = 4_000_000;
/** The first figures of a process do not count for so long. */
const NEW_MS = 15_000;
/** The figures that a trend needs. */
const MIN_FIGURES = 6;

const MB = 1_000_000;

/** Checks that the live heaps of processes that were never restarted do not grow. */
export function checkHeap(run: Run): Verdict {
  const failures: Failure[] = [];
  const heaps: string[] = [];
  for (const history of run.histories) {
    const bytes = figuresOf(history);
    if (bytes.length < MIN_FIGURES) continue;
    const third = Math.floor(bytes.length / 3);
    // The minimum of several figures: the garbage of a burst is gone at the next one.
    const [first, last] = [Math.min(...bytes.slice(0, third)), Math.min(...bytes.slice(-third))];
    heaps.push(`${history.name} ${(first / MB).toFixed(1)} to ${(last / MB).toFixed(1)} MB`);
    if (last - first <= ALLOWED_BYTES) continue;
    const text = `the heap of ${history.name} grows from ${(first / MB).toFixed(1)} to ${(last / MB).toFixed(1)} MB, which is more than the allowed ${ALLOWED_BYTES / MB} MB; figures: ${bytes.map((one) => (one / MB).toFixed(1)).join(' ')}`;
    failures.push({ at: run.ended, text, path: history.path });
  }
  if (heaps.length === 0) failures.push({ at: run.ended, text: 'no process had enough figures for a trend' });
  return { name: 'heap', failures, seen: heaps.join(', ') };
}

function figuresOf({ heaps, requests }: ProcessHistory): number[] {
  const first = requests[0]?.askedAt ?? Infinity;
  return heaps.filter(({ at }) => at >= first + NEW_MS).map(({ bytes }) => bytes);
}
