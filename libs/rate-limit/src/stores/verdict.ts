import type { Algorithm } from '../algorithms/algorithm.js';
import type { Charge, ChargeVerdict, Verdict } from './store.js';

/** Whether two requests are the same question: the same costs of the same policies for the same identities. */
export function sameCharges(some: readonly Charge[], others: readonly Charge[]): boolean {
  return (
    some.length === others.length &&
    some.every(({ key, algorithm, cost }, i) => {
      const other = others[i]!;
      return key === other.key && algorithm === other.algorithm && cost === other.cost;
    })
  );
}

/** Whether every charge fits its level; a cost of 0 asks what 1 would. */
export function allFit(charges: readonly Charge[], levels: readonly unknown[]): boolean {
  for (let i = 0; i < charges.length; i++) {
    const { algorithm, cost } = charges[i]!;
    if (!algorithm.fits(levels[i], cost || 1)) return false;
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
  return {
    allowed,
    at,
    charges: charges.map(({ algorithm, cost }, i) => chargeVerdict(algorithm, before[i], after[i], cost || 1)),
  };
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
  return charges.map(({ algorithm, cost }, i) => algorithm.charge(levels[i], cost));
}
