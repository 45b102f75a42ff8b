import { describe, expect, it } from '@jest/globals';
import { assert, check, property } from 'fast-check';
import type { Algorithm } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import type { ChargeMark, Refunds } from '../../libs/floodgate/src/algorithms/core/refunds.js';
import { ALL_ALGORITHMS } from '../support/algorithm-of.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { playSettlements, settlementHistoriesOf } from './settlement-histories.js';

// test/equivalence/settled-turns.clients.spec.ts compares Redis with memory.
describe('histories of charges that are refunded, and of reservations that are settled, cancelled or left', () => {
  it.each(ALL_ALGORITHMS)(
    '%s: no key is below its counterfactual, none is above its limit, and a lone refund is exact',
    (name) => {
      const law = property(settlementHistoriesOf(name), (history) => playSettlements(history));
      assert(law, histories(4));
    },
    HISTORY_TIMEOUT_MS,
  );
});

type Returnable = (state: object, now: number, cost: number, charge: ChargeMark) => number;

/** A token bucket with another rule for its refunds. */
function withRule(algorithm: Algorithm, rule: (due: Returnable) => Returnable): Algorithm {
  const refunds = algorithm.refunds as Refunds & { returnable: Returnable };
  const changed = Object.create(refunds) as typeof refunds;
  changed.returnable = rule(refunds.returnable.bind(refunds));
  return Object.create(algorithm, { refunds: { value: changed } }) as Algorithm;
}

describe('the comparison with the counterfactual', () => {
  it.each<[string, (due: Returnable) => Returnable]>([
    ['refunds the whole cost', () => (_, __, cost) => cost * 1e15],
    [
      'does not count the refunds that came between',
      (due) =>
        (state, now, cost, { refundMarker, ...charge }) =>
          due({ ...state, tail: undefined }, now, cost, { ...charge, refundMarker: [refundMarker![0]!, 0] }),
    ],
    [
      'refunds no more than the cost less what refilled since',
      (due) =>
        (state, now, cost, { refundMarker, ...charge }) =>
          due(state, now, cost, { ...charge, refundMarker: [0, refundMarker![1]!] }),
    ],
  ])(
    'finds a bucket that %s',
    (_, rule) => {
      const law = property(settlementHistoriesOf('token-bucket'), (history) =>
        playSettlements(history, (algorithm) => withRule(algorithm, rule)),
      );
      const { failed } = check(law, { ...histories(), numRuns: 20_000, endOnFailure: true });
      expect(failed).toBe(true);
    },
    120_000,
  );
});
