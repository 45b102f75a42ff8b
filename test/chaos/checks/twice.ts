import type { Decided, Request } from '../history.js';
import { LEDGER_LIMIT } from '../policies.js';
import { decidedAt, epochOf } from '../times.js';
import { type Failure, type Run, type Verdict } from './check.js';

/** How long a call may be under way before Redis gets it, while a process or the network stands still. */
const UNDER_WAY_MS = 20_000;

interface Numbered {
  readonly decided: Decided;
  /** By the machine's clock, in milliseconds. */
  readonly at: number;
  /** The charges in the ledger before this admission and after it. */
  readonly before: number;
  readonly after: number;
}

/**
 * Checks that no request is charged twice. Some keys belong to one request each: MONITOR shows at most one write to them. The
 * ledger numbers all charges: no two admissions have the same number, and later ones have higher numbers. There are at most as
 * many numbers without an admission as lost answers.
 */
export function checkCharges(run: Run): Verdict {
  const failures: Failure[] = [];
  for (const [key, count] of run.writes) {
    if (count > 1)
      failures.push({ at: run.ended, text: `${key} belongs to one request and was written ${count} times` });
  }
  const [numbered, losses] = numberedByLoss(run);
  const unheard = unheardOf(run);
  let lost = 0;
  for (const [i, list] of numbered.entries()) {
    const { from } = losses[i]!;
    let gaps = 0;
    let last = 0;
    for (const { decided, at, before, after } of list) {
      const path = decided.process.path;
      const name = decided.request.id;
      if (before < last) {
        const text = `${name} has charges ${before + 1} to ${after} of the ledger, but charges up to ${last} belong to earlier requests`;
        failures.push({ at, text, path });
      } else gaps += before - last;
      last = Math.max(last, after);
      // Requests that were under way when the keys were lost may be charged afterwards.
      const possible = unheard(from - UNDER_WAY_MS, at);
      if (gaps > possible) {
        const text = `${name} finds ${gaps} charges in the ledger without an admission, but only ${possible} charges lost their answer`;
        failures.push({ at, text, path });
        gaps = possible; // reports it once
      }
    }
    lost += gaps;
  }
  const seen = `${run.writes.size} identities with one request each; ${lost} charges whose answers were lost`;
  return { name: 'never twice', failures, seen };
}

/** The answered charges with the ledger in Redis's order, grouped by the loss of keys before them. */
function numberedByLoss(run: Run): [Numbered[][], { from: number }[]] {
  const lists: Numbered[][] = [];
  const losses: { from: number }[] = [];
  for (const { losses: count, from } of run.epochs) {
    if (losses[count] === undefined) {
      losses[count] = { from };
      lists[count] = [];
    }
  }
  for (const { decided: all } of run.histories) {
    for (const decided of all) {
      const left = decided.remaining['ledger'];
      if (decided.source !== 'store' || !decided.allowed || left === undefined) continue;
      const epoch = epochOf(decided, run.epochs, run.wallAheadMs);
      if (epoch === undefined) continue;
      const after = LEDGER_LIMIT - left;
      const at = decidedAt(decided, epoch, run.wallAheadMs);
      lists[epoch.losses]!.push({ decided, at, after, before: after - decided.request.cost });
    }
  }
  // Requests of one instant were decided in the order of their numbers.
  for (const list of lists) list.sort((a, b) => (Math.abs(a.at - b.at) < INSTANT_MS ? a.after - b.after : a.at - b.at));
  return [lists, losses];
}

/** The uncertainty around a step of a clock. */
const INSTANT_MS = 0.002;

/** Returns the most that requests of a given time may have been charged although their answers were lost. */
function unheardOf({ histories }: Run): (from: number, to: number) => number {
  const unheard: { readonly at: number; readonly sum: number }[] = [];
  const isUnheard = ({ policies, before, decided }: Request): boolean =>
    policies.includes('ledger') &&
    before?.allowed !== false &&
    decided?.source !== 'store' &&
    decided?.source !== 'denial-cache';
  const all = histories.flatMap(({ requests }) => requests.filter(isUnheard)).toSorted((a, b) => a.askedAt - b.askedAt);
  let sum = 0;
  for (const { askedAt, cost } of all) unheard.push({ at: askedAt, sum: (sum += cost) });
  const until = (at: number): number => {
    let [low, high] = [0, unheard.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (unheard[middle]!.at <= at) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? 0 : unheard[low - 1]!.sum;
  };
  return (from, to) => until(to) - until(from);
}
