import type { Algorithm } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { ALGORITHM_NAMES } from '../../libs/floodgate/src/algorithms/algorithms.js';

export {
  algorithmOf,
  policyWith,
  SMALL_POLICIES,
} from '../../libs/floodgate/src/testing/conformance/small-policies.js';

/** The window in microseconds of an algorithm that has one. */
export function windowOf(algorithm: Algorithm): number {
  return algorithm.wire.numbers[1]!;
}

/** The rate of a bucket: tokens or departures per microsecond as a fraction. */
export function rateOf(algorithm: Algorithm): { tokens: bigint; microseconds: bigint } {
  const [tokens, microseconds] = algorithm.wire.numbers as [number, number];
  return { tokens: BigInt(tokens), microseconds: BigInt(microseconds) };
}

export const ALL_ALGORITHMS = ALGORITHM_NAMES;
