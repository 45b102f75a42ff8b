import { describe, it } from '@jest/globals';
import { assert, property } from 'fast-check';
import { ALL_ALGORITHMS, algorithmOf, rateOf } from '../support/algorithm-of.js';
import { BOUNDS } from '../support/bounds-of.js';
import { expectHolds } from '../support/expect-same.js';
import { histories } from '../support/property-runs.js';
import { admitted, keyHistoriesOf, replay } from './key-histories.js';

describe('never admits more than its bound, in any interval', () => {
  it.each(ALL_ALGORITHMS)('%s', (name) => {
    const law = property(keyHistoriesOf(name), (history) => {
      const algorithm = algorithmOf(history.policy);
      BOUNDS[name](admitted(replay(history)), algorithm, algorithm.limit, 1n);
    });
    assert(law, histories());
  });
});

it('a leaky bucket delays no request longer than all of its places take to depart', () => {
  const law = property(keyHistoriesOf('leaky-bucket'), (history) => {
    replay(history, (answer, algorithm) => {
      const { tokens, microseconds } = rateOf(algorithm);
      // A delay is rounded up to a whole microsecond.
      const isShort = BigInt(answer.delay - 1) * tokens < BigInt(algorithm.limit) * microseconds;
      expectHolds(isShort, () => answer);
    });
  });
  assert(law, histories());
});
