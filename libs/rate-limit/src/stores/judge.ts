import type { BlockLevel } from '../algorithms/block.js';
import { askedCost, type BlockCharge, type Charge, reserves, takes, tellsShortfall } from './charge.js';
import { shortfallOf } from './shortfall.js';
import type { ChargeReceipt, ChargeVerdict, Verdict } from './store.js';

// Plain loops: every decision passes here, and each closure or array is a measurable part of its cost.

/** A charge and the level of its state: before the decision, then after it. */
export interface Found {
  readonly charge: Charge;
  level: unknown;
  /** What the receipt of a reservation, or a shortfall, needs beside the level. */
  refundMarker?: readonly number[] | undefined;
  /** The charge's block and its level, where the charge has one. */
  readonly block?: FoundBlock | undefined;
}

/** A charge's block and its level. */
export interface FoundBlock {
  readonly charge: BlockCharge;
  level: BlockLevel;
}

/** Decides a request: allowed if every charge fits its level. The levels of an allowed request move on. */
export function judge(found: readonly Found[], at: number): Verdict {
  let allowed = true;
  for (let i = 0; allowed && i < found.length; i++) {
    const { charge, level, block } = found[i]!;
    if (charge.shadow === true) continue;
    allowed = charge.algorithm.fits(level, askedCost(charge)) && (block === undefined || isOpen(block));
  }
  return verdictOf(found, allowed, at);
}

/** The verdict on a request that another step rejected: no level moves. */
export function judgeRejected(found: readonly Found[], at: number): Verdict {
  return verdictOf(found, false, at);
}

/** A copy that a decision can move on. */
export function copyOf({ charge, level, block, refundMarker }: Found): Found {
  return { charge, level, block: block && { ...block }, refundMarker };
}

function verdictOf(found: readonly Found[], allowed: boolean, at: number): Verdict {
  const charges = [judgeOne(found[0]!, allowed, at)];
  for (let i = 1; i < found.length; i++) charges.push(judgeOne(found[i]!, allowed, at));
  return { allowed, at, charges };
}

function judgeOne(found: Found, allowed: boolean, at: number): ChargeVerdict {
  const { charge, level, block } = found;
  if (block !== undefined) return judgeBlocked(found, block, allowed, at);
  const { algorithm } = charge;
  const cost = askedCost(charge);
  const fits = algorithm.fits(level, cost);
  // An allowed request fits all its charges but the shadows.
  const after = allowed && fits && takes(charge) ? algorithm.charge(level, cost) : level;
  found.level = after;
  const verdict = {
    allowed: fits,
    remaining: algorithm.remaining(after),
    resetAfter: algorithm.resetAfter(after),
    retryAfter: fits ? 0 : cost > algorithm.maxCost ? Infinity : algorithm.retryAfter(level, cost),
    delay: fits ? algorithm.delay(level) : 0,
  };
  if (!tellsShortfall(charge)) return verdict;
  if (allowed && fits && reserves(charge)) {
    return { ...verdict, receipt: receiptOf(found, level, at, verdict.resetAfter) };
  }
  const shortfall = fits ? undefined : shortfallOf(found, at);
  return shortfall === undefined ? verdict : { ...verdict, shortfall };
}

function receiptOf({ charge, refundMarker }: Found, level: unknown, at: number, resetAfter: number): ChargeReceipt {
  const { key, algorithm, cost } = charge;
  return {
    key,
    algorithm,
    cost,
    at,
    resetAt: at + resetAfter,
    refundMarker: algorithm.refunds?.markers?.of(level, refundMarker),
  };
}

/** Judges a charge with a block. While the block lasts, nothing is charged and no rejection counts. */
function judgeBlocked(found: Found, block: FoundBlock, allowed: boolean, at: number): ChargeVerdict {
  const wasOpen = isOpen(block);
  const { charge, level, refundMarker } = found;
  const verdict = judgeOne({ charge, level, refundMarker }, false, at);
  if (wasOpen && verdict.allowed) {
    const plain = { charge, level, refundMarker };
    const judged = judgeOne(plain, allowed, at);
    found.level = plain.level;
    return judged;
  }
  if (wasOpen && takes(found.charge)) block.level = block.charge.algorithm.charge(block.level);
  if (isOpen(block)) return verdict;
  const { left } = block.level;
  const { resetAfter, retryAfter, shortfall } = verdict;
  const blocked = {
    allowed: false,
    remaining: 0,
    resetAfter: Math.max(left, resetAfter),
    retryAfter: Math.max(left, retryAfter),
    delay: 0,
    blockedFor: left,
  };
  return shortfall === undefined ? blocked : { ...blocked, shortfall };
}

function isOpen({ charge, level }: FoundBlock): boolean {
  return charge.algorithm.fits(level);
}
