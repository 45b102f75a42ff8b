import type { Algorithm, AlgorithmName } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import { ALGORITHM_NAMES, algorithmEntry } from '../../libs/rate-limit/src/algorithms/algorithms.js';
import { parsePolicy } from '../../libs/rate-limit/src/policy/parse-policy.js';
import type { Policy } from '../../libs/rate-limit/src/policy/policy.js';

/** The algorithm of a policy as an application writes it. */
export function algorithmOf(policy: Policy): Algorithm {
  return parsePolicy(policy, 'test').algorithm;
}

/** The window in microseconds of an algorithm that has one. */
export function windowOf(algorithm: Algorithm): number {
  return algorithm.wire[1]!;
}

/** The rate of a bucket: tokens or departures per microsecond as a fraction. */
export function rateOf(algorithm: Algorithm): { tokens: bigint; microseconds: bigint } {
  const [tokens, microseconds] = algorithm.wire as [number, number];
  return { tokens: BigInt(tokens), microseconds: BigInt(microseconds) };
}

export const ALL_ALGORITHMS = ALGORITHM_NAMES;

/** A policy of an algorithm; of `values`, which name options, it takes the algorithm's own. */
export function policyWith(name: AlgorithmName, values: Readonly<Record<string, unknown>>): Policy {
  const options = algorithmEntry(name)!.options.map((option) => [option, values[option]]);
  return { algorithm: name, ...Object.fromEntries(options) };
}

const SMALL = { capacity: 4, refill: 3, drain: 3, limit: 4, window: '1s' };

/** A small policy of each algorithm: 4 requests pass at once, and a window or a refill takes about a second. */
export const SMALL_POLICIES = Object.fromEntries(
  // The departing request of a queue takes no waiting place.
  ALL_ALGORITHMS.map((name) => [name, policyWith(name, name === 'leaky-bucket' ? { ...SMALL, capacity: 3 } : SMALL)]),
) as Readonly<Record<AlgorithmName, Policy>>;
