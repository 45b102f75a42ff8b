import { type AlgorithmName, type Vector, vectorsOf } from '../../lab/trial/vectors/vector.js';
import type { Policy } from '../../libs/floodgate/src/policy/policy.js';
import { ORIGIN } from '../../libs/floodgate/src/testing/conformance/instants.js';
import { eachOf, type Laws } from '../../libs/floodgate/src/testing/conformance/laws.js';
import { expectSame } from '../../libs/floodgate/src/testing/conformance/same.js';
import { algorithmOf, policyWith } from './algorithm-of.js';

/** One law for each algorithm: the store gives exactly the verdicts of its vectors. */
export function vectorLaws(algorithms: readonly AlgorithmName[]): Laws {
  return eachOf(
    algorithms,
    (name) => name,
    (name) => async (open) => {
      const timeline = await open();
      for (const vector of vectorsOf(name)) {
        for (const [
          i,
          [at, cost, limit, allowed, remaining, resetAfter, retryAfter, delay],
        ] of vector.steps.entries()) {
          const algorithm = algorithmOf(policyOf(name, vector, limit));
          const verdict = await timeline.charge(vector.start + at - ORIGIN, algorithm, cost, vector.name);
          const right = { allowed, remaining, resetAfter, retryAfter: retryAfter ?? Infinity, delay };
          expectSame(`${vector.name}, step ${i + 1}: cost ${cost} of ${limit} at ${at} microseconds`, verdict, right);
        }
      }
    },
  );
}

function policyOf(name: AlgorithmName, { window, tokens, microseconds }: Vector, limit: number): Policy {
  const [windowMs, rate] = [window! / 1000, `${tokens}/${microseconds! / 1000}ms`];
  return policyWith(name, { limit, capacity: limit, window: windowMs, lease: windowMs, refill: rate, drain: rate });
}
