import type { Algorithm, AlgorithmName } from '../../algorithms/core/algorithm.js';
import { ALGORITHM_NAMES, algorithmEntry } from '../../algorithms/algorithms.js';
import { parsePolicy } from '../../policy/parse-policy.js';
import type { Policy } from '../../policy/policy.js';

/** The algorithm of a policy as an application writes it; a limit of 0 is that of a plan or an override. */
export function algorithmOf(policy: Policy): Algorithm {
  return parsePolicy(policy, 'test', undefined, 0).algorithm;
}

/** A policy of an algorithm; of `values`, which name options, it takes the algorithm's own. */
export function policyWith(name: AlgorithmName, values: Readonly<Record<string, unknown>>): Policy {
  const options = algorithmEntry(name)!.options.map((option) => [option, values[option]]);
  return { algorithm: name, ...Object.fromEntries(options) };
}

const SMALL = { capacity: 4, refill: 3, drain: 3, limit: 4, window: '1s', lease: '1s' };

/** A small policy of each algorithm: 4 requests pass at once, and a window or a refill takes about a second. */
export const SMALL_POLICIES = Object.fromEntries(
  ALGORITHM_NAMES.map((name) => {
    // The departing request of a queue takes no waiting place.
    const isQueue = algorithmOf(policyWith(name, SMALL)).delays;
    return [name, policyWith(name, isQueue ? { ...SMALL, capacity: 3 } : SMALL)];
  }),
) as Readonly<Record<AlgorithmName, Policy>>;
