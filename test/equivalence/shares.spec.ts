import { describe, expect, it } from '@jest/globals';
import { assert, integer, nat, pre, property, tuple } from 'fast-check';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { exactRate, shareOfRate } from '../../libs/floodgate/src/algorithms/core/rate.js';
import { ALL_ALGORITHMS, algorithmOf } from '../support/algorithm-of.js';
import { policyOrNothingOf } from '../support/arbitrary-policies.js';
import { histories } from '../support/property-runs.js';

const START = 1_700_000_000_000_000;

describe('shares of a policy', () => {
  it.each(ALL_ALGORITHMS)('%s: one process has the whole limit, and each of many has at least `atLeast`', (name) => {
    assert(
      property(policyOrNothingOf(name), integer({ min: 1, max: 10_000 }), nat({ max: 50 }), (policy, n, least) => {
        const whole = algorithmOf(policy);
        expect(whole.shares.of(1, least)).toBe(whole);
        const atLeast = Math.max(1, Math.min(least, whole.maxCost));
        const share = whole.shares.of(n, atLeast);
        expect(share.limit).toBe(
          n === 1 ? whole.limit : Math.min(whole.limit, Math.max(atLeast, Math.floor(whole.limit / n))),
        );
        expect(share.maxCost).toBeLessThanOrEqual(whole.maxCost);
        const store = new MemoryStore({ clock: () => START });
        expect(store.consume([{ key: 'k', algorithm: share, cost: atLeast }]).allowed).toBe(whole.limit > 0);
      }),
      histories(),
    );
  });

  it('of a rate: are at most an equal part, and never 0', () => {
    const rates = tuple(integer({ min: 1, max: 1e9 }), integer({ min: 1, max: 1e6 }));
    assert(
      property(rates, integer({ min: 1, max: 10_000 }), integer({ min: 1, max: 1e6 }), ([count, ms], n, places) => {
        pre(count / ms <= 1e6 && (places * ms) / count < 1e12);
        const rate = exactRate(`${count}/${ms}ms`, places);
        const share = shareOfRate(rate, n, places);
        expect(share.tokens).toBeGreaterThanOrEqual(1);
        expect(share.microseconds * places).toBeLessThanOrEqual(2 ** 52);
        const tooMuch =
          BigInt(share.tokens) * BigInt(rate.microseconds) * BigInt(n) >
          BigInt(rate.tokens) * BigInt(share.microseconds);
        // Only a rate that takes a century for a token is rounded up.
        expect(tooMuch && share.microseconds < 2 ** 51 / places).toBe(false);
      }),
      histories(),
    );
  });
});
