import { describe, expect, it } from '@jest/globals';
import { assert, asyncProperty, check } from 'fast-check';
import type { Algorithm } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import type { ChargeMark, Refunds } from '../../libs/rate-limit/src/algorithms/refunds/refunds.js';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import type { Clock, RateLimitStore } from '../../libs/rate-limit/src/stores/store.js';
import { ALL_ALGORITHMS } from '../support/algorithm-of.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { playSettlements, settlementHistoriesOf } from './settlement-histories.js';

const open = (clock: Clock): RateLimitStore => new MemoryStore({ clock });

// test/equivalence/settled-turns.clients.spec.ts compares Redis with memory.
describe('histories of reservations that are settled, cancelled, settled twice or never', () => {
  it.each(ALL_ALGORITHMS)(
    '%s: no key is below its counterfactual, none is above its limit, and a lone refund is exact',
    async (name) => {
      const law = asyncProperty(settlementHistoriesOf(name), (history) => playSettlements(history, open));
      await assert(law, histories(2));
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
    async (_, rule) => {
      const property = asyncProperty(settlementHistoriesOf('token-bucket'), async (history) => {
        const changed = (algorithm: Algorithm): Algorithm => withRule(algorithm, rule);
        await playSettlements(history, open, changed);
      });
      const { failed } = await check(property, { ...histories(), numRuns: 20_000, endOnFailure: true });
      expect(failed).toBe(true);
    },
    120_000,
  );
});
