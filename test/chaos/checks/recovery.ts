import { overlap } from '../clock.js';
import { RECOVERY_MS } from '../times.js';
import { type Failure, faultsAround, type Run, stallsOf, touches, type Verdict } from './check.js';

/** A recovery counts when Redis keeps deciding for so long. */
const WATCHED_MS = RECOVERY_MS + 1000;

/** Measures the time from the end of each fault until Redis decides again. It skips a fault that another one follows too soon. */
export function checkRecovery(run: Run): Verdict & { readonly recoveriesMs: readonly number[] } {
  const failures: Failure[] = [];
  const recoveriesMs: number[] = [];
  for (const [pod, { faults }] of run.outages.entries()) {
    const decided = run.histories
      .filter((history) => history.pod === pod)
      .flatMap((history) => history.decided)
      .toSorted((a, b) => a.decidedAt - b.decidedAt);
    const stalls = stallsOf(run.histories, pod);
    for (const [i, { to }] of faults.entries()) {
      const next = faults[i + 1]?.from ?? run.ended;
      const span = { from: to, to: to + WATCHED_MS };
      if (next < span.to || touches(run.away[pod]!, span)) continue;
      // A machine that is busy, or a process that stands still, recovers later.
      if (overlap(run.slow, span) > 0) continue;
      const after = decided.filter(({ askedAt }) => askedAt >= span.from && askedAt <= span.to);
      const without = after.findLast(({ source }) => source !== 'store' && source !== 'denial-cache');
      const lastWithout = without?.decidedAt ?? to;
      const back = after.find(({ source, decidedAt }) => source === 'store' && decidedAt > lastWithout);
      const at = back?.decidedAt ?? span.to;
      const ms = at - to - overlap(stalls, { from: to, to: at });
      recoveriesMs.push(ms);
      if (back !== undefined && ms <= RECOVERY_MS) continue;
      const text = `Redis decides for pod ${pod} again ${back === undefined ? 'not within' : 'after'} ${ms.toFixed(0)} ms; ${faultsAround(run, pod, to)}`;
      failures.push({ at: to, text });
    }
  }
  const slowest = Math.max(0, ...recoveriesMs);
  return {
    name: 'recovery',
    failures,
    recoveriesMs,
    seen: `${recoveriesMs.length} recoveries, the slowest after ${slowest.toFixed(0)} ms of ${RECOVERY_MS}`,
  };
}
