import type { BlockLevel } from '../algorithms/block.js';
import { askedCost, type BlockCharge, type Charge, takes } from './charge.js';
import type { ChargeVerdict, Verdict } from './store.js';

// Plain loops: every decision passes here, and each closure or array is a measurable part of its cost.

/** A charge and the level of its state: before the decision, then after it. */
export interface Found {
  readonly charge: Charge;
  level: unknown;
  /** The same of its block, where the charge has one. */
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
export function copyOf({ charge, level, block }: Found): Found {
  return block === undefined ? { charge, level } : { charge, level, block: { ...block } };
}

function verdictOf(found: readonly Found[], allowed: boolean, at: number): Verdict {
  const charges = [settle(found[0]!, allowed)];
  for (let i = 1; i < found.length; i++) charges.push(settle(found[i]!, allowed));
  return { allowed, at, charges };
}

function settle(found: Found, allowed: boolean): ChargeVerdict {
  const { charge, level, block } = found;
  if (block !== undefined) return settleBlocked(found, block, allowed);
  const { algorithm } = charge;
  const cost = askedCost(charge);
  const fits = algorithm.fits(level, cost);
  // An allowed request fits all its charges but the shadows.
  const after = allowed && fits && takes(charge) ? algorithm.charge(level, cost) : level;
  found.level = after;
  return {
    allowed: fits,
    remaining: algorithm.remaining(after),
    resetAfter: algorithm.resetAfter(after),
    retryAfter: fits ? 0 : cost > algorithm.maxCost ? Infinity : algorithm.retryAfter(level, cost),
    delay: fits ? algorithm.delay(level) : 0,
  };
}

/** As `settle`. While the block lasts, nothing is charged and no rejection counts. */
function settleBlocked(found: Found, block: FoundBlock, allowed: boolean): ChargeVerdict {
  const wasOpen = isOpen(block);
  const verdict = settle({ charge: found.charge, level: found.level }, false);
  if (wasOpen && verdict.allowed) {
    const plain = { charge: found.charge, level: found.level };
    const settled = settle(plain, allowed);
    found.level = plain.level;
    return settled;
  }
  if (wasOpen && takes(found.charge)) block.level = block.charge.algorithm.charge(block.level);
  if (isOpen(block)) return verdict;
  const { left } = block.level;
  const { resetAfter, retryAfter } = verdict;
  return {
    allowed: false,
    remaining: 0,
    resetAfter: Math.max(left, resetAfter),
    retryAfter: Math.max(left, retryAfter),
    delay: 0,
    blocked: true,
  };
}

function isOpen({ charge, level }: FoundBlock): boolean {
  return charge.algorithm.fits(level);
}
