import * as fc from 'fast-check';
import type { Algorithm, AlgorithmName } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { algorithmOf } from './algorithm-of.js';
import { starts } from './arbitrary-instants.js';
import { type Cost, costFor, costs, policyOrNothingOf } from './arbitrary-policies.js';

/** An algorithm, a state after some charges, its level at `now`, and a cost to try. */
export interface Situation {
  readonly algorithm: Algorithm;
  readonly now: number;
  readonly state: unknown;
  readonly level: unknown;
  readonly cost: number;
}

export function situationsOf(name: AlgorithmName): fc.Arbitrary<Situation> {
  return fc
    .tuple(
      policyOrNothingOf(name),
      starts,
      fc.array(fc.tuple(costs, fc.double({ min: 0, max: 1, noNaN: true }))),
      costs,
    )
    .map(([policy, start, charges, cost]) => situation(algorithmOf(policy), start, charges, cost));
}

/** Charges each cost that fits, then waits for a part of the time until the whole limit is available. */
function situation(
  algorithm: Algorithm,
  start: number,
  charges: readonly (readonly [Cost, number])[],
  cost: Cost,
): Situation {
  let now = start;
  let state: unknown;
  let level = algorithm.read(state, now, 0);
  for (const [charge, wait] of charges) {
    const asked = costFor(algorithm, charge);
    if (!algorithm.fits(level, asked || 1)) continue;
    state = algorithm.write(algorithm.charge(level, asked), now, state);
    now += Math.floor(algorithm.resetAfter(level) * wait);
    level = algorithm.read(state, now, 0);
  }
  return { algorithm, now, state, level, cost: Math.max(1, costFor(algorithm, cost)) };
}

/** All answers that a level gives to a request. Levels with the same answers are equivalent. */
export function answersOf(algorithm: Algorithm, level: unknown, cost: number): unknown {
  const allowed = algorithm.fits(level, cost);
  return {
    allowed,
    remaining: algorithm.remaining(level),
    resetAfter: algorithm.resetAfter(level),
    retryAfter: allowed || cost > algorithm.maxCost ? 0 : algorithm.retryAfter(level, cost),
    delay: algorithm.delay(level),
  };
}
