import { describe, it } from '@jest/globals';
import { assert, property } from 'fast-check';
import { worstExcess } from '../../libs/textbook/bounds.js';
import { algorithmOf, rateOf } from '../support/algorithm-of.js';
import { expectHolds } from '../support/expect-same.js';
import { histories } from '../support/property-runs.js';
import { admitted, type KeyHistory, keyHistoriesOf, replay } from './key-histories.js';

describe('the token bucket', () => {
  it('never admits more than capacity + refill x t in any interval of length t', () => {
    const law = property(keyHistoriesOf('token-bucket'), (history: KeyHistory) => {
      const algorithm = algorithmOf(history.policy);
      const excess = worstExcess(admitted(replay(history)), algorithm.limit, rateOf(algorithm));
      expectHolds(excess <= 0, () => ({ algorithm, excess }));
    });
    assert(law, histories());
  });
});

describe('the leaky bucket', () => {
  it('delays no request longer than all of its places take to depart', () => {
    const law = property(keyHistoriesOf('leaky-bucket'), (history: KeyHistory) => {
      replay(history, (answer, algorithm) => {
        const { tokens, microseconds } = rateOf(algorithm);
        // A delay is rounded up to a whole microsecond.
        const isShort = BigInt(answer.delay - 1) * tokens < BigInt(algorithm.limit) * microseconds;
        expectHolds(isShort, () => answer);
      });
    });
    assert(law, histories());
  });

  it('never gives slots that are closer together than 1/drain', () => {
    const law = property(keyHistoriesOf('leaky-bucket'), (history: KeyHistory) => {
      const { tokens, microseconds } = rateOf(algorithmOf(history.policy));
      const departures = admitted(replay(history)).map(({ at, delay, cost }) => ({ slot: at + delay, cost }));
      for (const [i, first] of departures.entries()) {
        let before = first.cost;
        for (const later of departures.slice(i + 1)) {
          // A slot is rounded up to a whole microsecond.
          const gap = BigInt(later.slot - first.slot + 1);
          expectHolds(BigInt(before) * microseconds < gap * tokens, () => ({ first, later, before }));
          before += later.cost;
        }
      }
    });
    assert(law, histories());
  });

  it('never admits more than its places, the departing request, and drain x t in any interval of length t', () => {
    const law = property(keyHistoriesOf('leaky-bucket'), (history: KeyHistory) => {
      const algorithm = algorithmOf(history.policy);
      const excess = worstExcess(admitted(replay(history)), algorithm.limit + 1, rateOf(algorithm));
      expectHolds(excess <= 0, () => ({ algorithm, excess }));
    });
    assert(law, histories());
  });
});
