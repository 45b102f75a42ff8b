import { askedCost, type Charge, reserves, takes } from './charge.js';
import type { ChargeReceipt, ChargeVerdict, Verdict } from './store.js';

// Plain loops: every decision passes here, and each closure or array is a measurable part of its cost.

/** A charge and the level of its state: before the decision, then after it. */
export interface Found {
  readonly charge: Charge;
  level: unknown;
  /** What the receipt of a reservation needs beside the level. */
  stamp?: readonly number[] | undefined;
}

/** Decides a request: allowed if every charge fits its level. The levels of an allowed request move on. */
export function judge(found: readonly Found[], at: number): Verdict {
  let allowed = true;
  for (let i = 0; allowed && i < found.length; i++) {
    const { charge, level } = found[i]!;
    allowed = charge.algorithm.fits(level, askedCost(charge));
  }
  return verdictOf(found, allowed, at);
}

/** The verdict on a request that another step rejected: no level moves. */
export function judgeRejected(found: readonly Found[], at: number): Verdict {
  return verdictOf(found, false, at);
}

function verdictOf(found: readonly Found[], allowed: boolean, at: number): Verdict {
  const charges = [judgeOne(found[0]!, allowed, at)];
  for (let i = 1; i < found.length; i++) charges.push(judgeOne(found[i]!, allowed, at));
  return { allowed, at, charges };
}

function judgeOne(found: Found, allowed: boolean, at: number): ChargeVerdict {
  const { charge, level } = found;
  const { algorithm } = charge;
  const cost = askedCost(charge);
  const fits = algorithm.fits(level, cost);
  const after = allowed && takes(charge) ? algorithm.charge(level, cost) : level;
  found.level = after;
  const verdict = {
    allowed: fits,
    remaining: algorithm.remaining(after),
    resetAfter: algorithm.resetAfter(after),
    retryAfter: fits ? 0 : cost > algorithm.maxCost ? Infinity : algorithm.retryAfter(level, cost),
    delay: fits ? algorithm.delay(level) : 0,
  };
  return allowed && reserves(charge)
    ? { ...verdict, receipt: receiptOf(found, level, at, verdict.resetAfter) }
    : verdict;
}

function receiptOf({ charge, stamp }: Found, level: unknown, at: number, resetAfter: number): ChargeReceipt {
  const { key, algorithm, cost } = charge;
  return { key, algorithm, cost, at, resetAt: at + resetAfter, stamp: algorithm.stamp?.(level, stamp) };
}
