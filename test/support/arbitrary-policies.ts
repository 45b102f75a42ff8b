import * as fc from 'fast-check';
import type { Algorithm, AlgorithmName } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { algorithmEntry } from '../../libs/floodgate/src/algorithms/algorithms.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import type { Rate } from '../../libs/floodgate/src/algorithms/core/rate.js';
import { algorithmOf } from './algorithm-of.js';

/** A policy, and perhaps a second version whose limit a deploy changed. Both count under one key; a bucket's key names its capacity. */
export type Versions = readonly [Policy, ...Policy[]];

const counts = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 10 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 500 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 1_000_000_000_000 }) },
);

/** Below and above 128, the most entries that a log keeps as one string. */
const logLimits = fc.oneof(
  fc.integer({ min: 1, max: 10 }),
  fc.integer({ min: 120, max: 140 }),
  fc.integer({ min: 1, max: 400 }),
);

const rates: fc.Arbitrary<Rate> = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.constantFrom<Rate>(3_000, 1_000_000, 1_000_000_000, 0.5, 1 / 3, 2.7, '600/m', '1/d', '10000/d', '7/11ms', '1/7s'),
  fc.integer({ min: 1, max: 1_000_000_000 }),
  fc.double({ min: 0.001, max: 100_000, noNaN: true }),
);

/** Milliseconds: from the shortest window to days; some do not divide a day evenly. */
const windows = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 1, max: 3_000 }),
  fc.constantFrom(1_000, 60_000, 86_400_000, 1.75, 1.5),
);

/** Values for each option that any algorithm has. */
const OPTIONS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  capacity: counts,
  refill: rates,
  drain: rates,
  limit: counts,
  window: windows,
  align: fc.constantFrom(undefined, 'first-request'),
  lease: fc.oneof(fc.integer({ min: 1_000, max: 3_000 }), fc.constantFrom(60_000, 86_400_000, 1_000.5)),
};

function shapeOf(name: AlgorithmName): fc.Arbitrary<Policy> {
  const values = algorithmEntry(name)!.options.map((option) => {
    const keepsInstants = name === 'sliding-window-log' || name === 'concurrency';
    return [option, keepsInstants && option === 'limit' ? logLimits : OPTIONS[option]!] as const;
  });
  const shape = fc.record({ algorithm: fc.constant(name), ...Object.fromEntries(values) });
  return shape as unknown as fc.Arbitrary<Policy>;
}

/** Any policy of the algorithm that an application could boot with. */
export function policyOf(name: AlgorithmName): fc.Arbitrary<Policy> {
  return shapeOf(name).filter(isAccepted);
}

/** Any policy of the algorithm, and sometimes one of a plan or an override that rejects everything. */
export function policyOrNothingOf(name: AlgorithmName): fc.Arbitrary<Policy> {
  const policies = policyOf(name);
  return fc.oneof(
    { weight: 9, arbitrary: policies },
    { weight: 1, arbitrary: policies.map((policy) => withLimit(policy, 0)) },
  );
}

/** The policy, and sometimes a second version with another limit and the same key. */
export function versionsOf(name: AlgorithmName): fc.Arbitrary<Versions> {
  return policyOf(name).chain((policy) =>
    fc.oneof(
      { weight: 4, arbitrary: fc.constant<Versions>([policy]) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 20 }).map((limit) => bothOf(policy, limit)) },
      { weight: 1, arbitrary: fc.constant<Versions>([withLimit(policy, 0)]) },
    ),
  );
}

function bothOf(policy: Policy, limit: number): Versions {
  const changed = withLimit(policy, limit);
  return isAccepted(changed) && algorithmOf(changed).rate === algorithmOf(policy).rate ? [policy, changed] : [policy];
}

function withLimit(policy: Policy, limit: number): Policy {
  return 'capacity' in policy ? { ...policy, capacity: limit } : { ...policy, limit };
}

function isAccepted(policy: Policy): boolean {
  try {
    algorithmOf(policy);
    return true;
  } catch {
    return false;
  }
}

/** A cost for any algorithm: units, or a part of the largest cost. */
export type Cost = { readonly units: number } | { readonly ofLargest: number; readonly plus: number };

export const costs: fc.Arbitrary<Cost> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ units: 1 }) },
  { weight: 2, arbitrary: fc.record({ units: fc.integer({ min: 0, max: 5 }) }) },
  { weight: 1, arbitrary: fc.constant({ units: 0 }) },
  {
    weight: 3,
    arbitrary: fc.record({ ofLargest: fc.constantFrom(1, 0.5, 0.34), plus: fc.integer({ min: -1, max: 1 }) }),
  },
);

/** The part of the limit that a class may fill: 1 for most charges. */
export const parts: fc.Arbitrary<number> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(1) },
  { weight: 2, arbitrary: fc.constantFrom(0.9, 0.5, 0.29, 0.01) },
);

export function costFor(algorithm: Algorithm, cost: Cost): number {
  if ('units' in cost) return cost.units;
  return Math.max(0, Math.floor(algorithm.maxCost * cost.ofLargest) + cost.plus);
}
