import type { BlockLevel } from '../algorithms/block/block.js';
import { type BlockCharge, type Charge, fits, remainingOf, reserves, takes, tellsShortfall, waitOf } from './charge.js';
import { shortfallOf } from './shortfall.js';
import type { ChargeReceipt, ChargeVerdict, Verdict } from './store.js';

// Plain loops: every decision passes here, and each closure or array is a measurable part of its cost.

/** A charge and the level of its state: before the decision, then after it. */
export interface Found {
  readonly charge: Charge;
  level: unknown;
  /** What the receipt of a reservation, or a shortfall, needs in addition to the level. */
  refundMarker?: readonly number[] | undefined;
  /** The charge's block and its level, where the charge has one. */
  readonly block?: FoundBlock | undefined;
}

/** A charge's block and its level. */
export interface FoundBlock {
  readonly charge: BlockCharge;
  level: BlockLevel;
}

/**
 * Decides a request: allowed if every charge fits its level, or one of the alternatives behind it does. An allowed request is charged
 * to the levels. An alternative at the beginning is a charge like any other.
 */
export function judge(found: readonly Found[], at: number): Verdict {
  let allowed = true; // whether the request fits each charge so far, or an alternative
  for (let i = 0; i < found.length; i++) {
    const { charge, level, block } = found[i]!;
    if (charge.shadow === true) continue;
    if (charge.alternative === true && i > 0) allowed ||= isFitting(charge, level, block);
    else if (allowed) allowed = isFitting(charge, level, block);
    else break;
  }
  return verdictOf(found, allowed, at);
}

/** The verdict on a request that another step rejected: no level moves. */
export function judgeRejected(found: readonly Found[], at: number): Verdict {
  return verdictOf(found, false, at);
}

/** A copy whose levels a decision may replace. */
export function copyOf({ charge, level, block, refundMarker }: Found): Found {
  return { charge, level, block: block && { ...block }, refundMarker };
}

function verdictOf(found: readonly Found[], allowed: boolean, at: number): Verdict {
  const charges = [judgeOne(found[0]!, allowed, at)];
  for (let i = 1; i < found.length; i++) {
    const one = found[i]!;
    const isNeeded = one.charge.alternative !== true || !isTaken(found, charges, i);
    charges.push(isNeeded ? judgeOne(one, allowed, at) : judgeUnneeded(one));
  }
  return { allowed, at, charges };
}

/** Whether the request fits a charge whose alternative stands at `index`, or another alternative before that. */
function isTaken(found: readonly Found[], charges: readonly ChargeVerdict[], index: number): boolean {
  for (let i = index - 1; i >= 0; i--) {
    if (charges[i]!.allowed) return true;
    if (found[i]!.charge.alternative !== true) return false;
  }
  return false;
}

/** The verdict on an alternative of a charge that the request fits: it is not made, and rejects nothing. */
function judgeUnneeded({ charge, level }: Found): ChargeVerdict {
  const remaining = remainingOf(charge, level);
  return { allowed: false, remaining, resetAfter: charge.algorithm.resetAfter(level), retryAfter: 0, delay: 0 };
}

function judgeOne(found: Found, allowed: boolean, at: number): ChargeVerdict {
  const { charge, level, block } = found;
  const { algorithm } = charge;
  const fitting = fits(charge, level);
  if (block !== undefined && !(fitting && isOpen(block))) return judgeBlocked(found, block, fitting, at);
  // Every charge of an allowed request fits, except perhaps shadows.
  const after = allowed && fitting && takes(charge) ? algorithm.charge(level, charge.cost) : level;
  found.level = after;
  const remaining = remainingOf(charge, after);
  const resetAfter = algorithm.resetAfter(after);
  // Each shape is written out: every decision makes one, and a spread costs more.
  if (!fitting) {
    const retryAfter = waitOf(charge, level);
    const shortfall = tellsShortfall(charge) ? shortfallOf(found, at) : undefined;
    return shortfall === undefined
      ? { allowed: false, remaining, resetAfter, retryAfter, delay: 0 }
      : { allowed: false, remaining, resetAfter, retryAfter, delay: 0, shortfall };
  }
  const delay = algorithm.delay(level);
  if (!allowed || !reserves(charge)) return { allowed: true, remaining, resetAfter, retryAfter: 0, delay };
  const receipt = receiptOf(found, level, at, resetAfter);
  return { allowed: true, remaining, resetAfter, retryAfter: 0, delay, receipt };
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

/**
 * Rejects a charge that does not fit, or whose block is closed. While the block lasts, nothing is charged and no rejection counts.
 *
 * @param fitting whether the charge itself would fit
 */
function judgeBlocked(found: Found, block: FoundBlock, fitting: boolean, at: number): ChargeVerdict {
  const { charge, level } = found;
  const { algorithm } = charge;
  if (isOpen(block) && takes(charge) && takes(block.charge)) block.level = block.charge.algorithm.charge(block.level);
  const blockedFor = isOpen(block) ? undefined : block.level.left;
  const own = fitting ? 0 : waitOf(charge, level);
  const remaining = blockedFor === undefined ? remainingOf(charge, level) : 0;
  const resetAfter = Math.max(blockedFor ?? 0, algorithm.resetAfter(level));
  const retryAfter = Math.max(blockedFor ?? 0, own);
  const shortfall = !fitting && tellsShortfall(charge) ? shortfallOf(found, at) : undefined;
  // A spread makes objects that are four times as dear to read.
  if (blockedFor === undefined) {
    return shortfall === undefined
      ? { allowed: false, remaining, resetAfter, retryAfter, delay: 0 }
      : { allowed: false, remaining, resetAfter, retryAfter, delay: 0, shortfall };
  }
  const blockStep = block.level.step;
  if (blockStep !== undefined) {
    return shortfall === undefined
      ? { allowed: false, remaining, resetAfter, retryAfter, delay: 0, blockedFor, blockStep }
      : { allowed: false, remaining, resetAfter, retryAfter, delay: 0, blockedFor, blockStep, shortfall };
  }
  return shortfall === undefined
    ? { allowed: false, remaining, resetAfter, retryAfter, delay: 0, blockedFor }
    : { allowed: false, remaining, resetAfter, retryAfter, delay: 0, blockedFor, shortfall };
}

function isFitting(charge: Charge, level: unknown, block: FoundBlock | undefined): boolean {
  return fits(charge, level) && (block === undefined || isOpen(block));
}

function isOpen({ charge, level }: FoundBlock): boolean {
  return charge.algorithm.fits(level);
}
