import type { Failure, Run, Verdict } from './check.js';

/** No handler runs that no decision let in: neither without one, nor against one. */
export function checkHandlers(run: Run): Verdict {
  const failures: Failure[] = [];
  let handled = 0;
  for (const { requests, path } of run.histories) {
    for (const { id, handledAt, before, decided } of requests) {
      if (handledAt === undefined) continue;
      handled++;
      for (const [name, one] of [['gate', before] as const, ['route', decided] as const]) {
        if (one?.allowed === true) continue;
        const text = `${id} was handled, ${one === undefined ? 'without a decision of' : 'rejected by'} the ${name}`;
        failures.push({ at: handledAt, text, path });
      }
    }
  }
  return { name: 'handlers', failures, seen: `${handled} requests were handled` };
}
