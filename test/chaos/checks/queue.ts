import type { Request } from '../history.js';
import { epochOf } from '../times.js';
import type { Failure, Run, Verdict } from './check.js';

/** The microseconds between two departures. They may be rounded. */
const DEPARTURE = 125_000;
const ROUNDING = 1;
/** Milliseconds by which two clocks, read one after the other, may differ. */
const SLACK_MS = 1.5;

/** Checks that slots of the leaky bucket are never closer than its rate, and that no handler runs before its slot. */
export function checkQueue(run: Run): Verdict {
  const failures: Failure[] = [];
  const slots = new Map<unknown, { readonly slot: number; readonly request: Request; readonly path: string }[]>();
  let handled = 0;
  for (const { requests, path } of run.histories) {
    for (const request of requests) {
      const { decided, handledAt } = request;
      // A request without a handler may have had its slot refunded.
      if (decided?.source !== 'store' || handledAt === undefined || !request.policies.includes('queue')) continue;
      handled++;
      const early = decided.decidedAt + decided.delayMs - handledAt;
      if (early > SLACK_MS) {
        failures.push({ at: handledAt, text: `${request.id} was handled ${early} ms before its slot`, path });
      }
      const epoch = epochOf(decided, run.epochs, run.wallAheadMs);
      if (epoch === undefined) continue;
      let list = slots.get(epoch);
      if (list === undefined) slots.set(epoch, (list = []));
      list.push({ slot: decided.at + Math.round(decided.delayMs * 1000), request, path });
    }
  }
  for (const list of slots.values()) {
    list.sort((a, b) => a.slot - b.slot);
    for (let i = 1; i < list.length; i++) {
      const { slot, request, path } = list[i]!;
      const apart = slot - list[i - 1]!.slot;
      if (apart >= DEPARTURE - ROUNDING) continue;
      const text = `slots of ${list[i - 1]!.request.id} and ${request.id} are ${apart} us apart`;
      failures.push({ at: request.askedAt, text, path });
    }
  }
  return { name: 'slots', failures, seen: `${handled} requests waited for their slots` };
}
