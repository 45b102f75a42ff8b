import type { Algorithm } from '../algorithms/algorithm.js';
import type { Charge, ChargeVerdict, Verdict } from './store.js';

// Plain loops: every decision passes here, and a closure or an array less is a good part of what it costs.

/** Whether two requests are the same question: the same costs of the same policies for the same identities. */
export function sameCharges(some: readonly Charge[], others: readonly Charge[]): boolean {
  if (some === others) return true;
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i++) {
    const [one, other] = [some[i]!, others[i]!];
    if (one.key !== other.key || one.algorithm !== other.algorithm || one.cost !== other.cost) return false;
  }
  return true;
}

/** What a charge asks for: its cost, also where it only looks. */
function asked(cost: number): number {
  return cost > 0 ? cost : -cost || 1;
}

/** Whether every charge fits its level. */
export function allFit(charges: readonly Charge[], levels: readonly unknown[]): boolean {
  for (let i = 0; i < charges.length; i++) {
    const { algorithm, cost } = charges[i]!;
    if (!algorithm.fits(levels[i], asked(cost))) return false;
  }
  return true;
}

/** The verdict on a request whose charges found `before` and, if it was allowed, left `after`. */
export function verdictOf(
  charges: readonly Charge[],
  before: readonly unknown[],
  after: readonly unknown[],
  allowed: boolean,
  at: number,
): Verdict {
  const { algorithm, cost } = charges[0]!;
  const verdicts = [chargeVerdict(algorithm, before[0], after[0], asked(cost))];
  for (let i = 1; i < charges.length; i++) {
    const charge = charges[i]!;
    verdicts.push(chargeVerdict(charge.algorithm, before[i], after[i], asked(charge.cost)));
  }
  return { allowed, at, charges: verdicts };
}

function chargeVerdict(algorithm: Algorithm, before: unknown, after: unknown, cost: number): ChargeVerdict {
  const allowed = algorithm.fits(before, cost);
  return {
    allowed,
    remaining: algorithm.remaining(after),
    resetAfter: algorithm.resetAfter(after),
    retryAfter: allowed ? 0 : cost > algorithm.maxCost ? Infinity : algorithm.retryAfter(before, cost),
    delay: allowed ? algorithm.delay(before) : 0,
  };
}

/** The levels after an allowed request. */
export function chargeAll(charges: readonly Charge[], levels: readonly unknown[]): unknown[] {
  const after = [chargeOne(charges[0]!, levels[0])];
  for (let i = 1; i < charges.length; i++) after.push(chargeOne(charges[i]!, levels[i]));
  return after;
}

function chargeOne({ algorithm, cost }: Charge, level: unknown): unknown {
  return cost > 0 ? algorithm.charge(level, cost) : level;
}
