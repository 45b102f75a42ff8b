import type { Algorithm, AlgorithmName } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import { parsePolicy } from '../../libs/rate-limit/src/policy/parse-policy.js';
import type { Policy } from '../../libs/rate-limit/src/policy/policy.js';

/** The algorithm of a policy as an application writes it. */
export function algorithmOf(policy: Policy): Algorithm {
  return parsePolicy(policy, 'test').algorithm;
}

/** The window in microseconds of the three algorithms that have one. */
export function windowOf(algorithm: Algorithm): number {
  return algorithm.wire[1]!;
}

/** The tokens or departures per microsecond of the two buckets, as a fraction. */
export function rateOf(algorithm: Algorithm): { tokens: bigint; microseconds: bigint } {
  const [tokens, microseconds] = algorithm.wire as [number, number];
  return { tokens: BigInt(tokens), microseconds: BigInt(microseconds) };
}

export const ALL_ALGORITHMS: readonly AlgorithmName[] = [
  'token-bucket',
  'leaky-bucket',
  'fixed-window',
  'sliding-window-log',
  'sliding-window-counter',
];

/** A small policy of each algorithm: 4 at once, and a window or a refill of about a second. */
export const SMALL_POLICIES: Readonly<Record<AlgorithmName, Policy>> = {
  'token-bucket': { algorithm: 'token-bucket', capacity: 4, refill: 3 },
  'leaky-bucket': { algorithm: 'leaky-bucket', capacity: 3, drain: 3 },
  'fixed-window': { algorithm: 'fixed-window', limit: 4, window: '1s' },
  'sliding-window-log': { algorithm: 'sliding-window-log', limit: 4, window: '1s' },
  'sliding-window-counter': { algorithm: 'sliding-window-counter', limit: 4, window: '1s' },
};
