import { describe, expect, it } from '@jest/globals';
import { array, assert, integer, nat, oneof, pre, property, record, tuple } from 'fast-check';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import { exactRate, shareOfRate } from '../../libs/rate-limit/src/algorithms/core/rate.js';
import { ALL_ALGORITHMS, algorithmOf } from '../support/algorithm-of.js';
import { policyOf } from '../support/arbitrary-policies.js';
import { expectHolds } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { TestClock } from '../support/test-clock.js';

const START = 1_700_000_000_000_000;

describe('shares of a policy', () => {
  it.each(ALL_ALGORITHMS.filter((name) => name !== 'leaky-bucket'))(
    '%s: all processes together admit only requests that one process with the whole limit admits',
    (name) => {
      const steps = array(
        record({
          process: nat({ max: 4 }),
          wait: oneof(nat({ max: 1000 }), nat({ max: 3_000_000 }), nat({ max: 3_600_000_000 })),
        }),
        { minLength: 1, maxLength: 80 },
      );
      const processCounts = integer({ min: 1, max: 5 });
      assert(
        property(policyOf(name), processCounts, steps, (policy, processes, history) => {
          const whole = algorithmOf(policy);
          pre(whole.limit >= processes);
          const share = whole.shares.of(processes, 1);
          const clock = new TestClock(START);
          const all = new MemoryStore({ clock: clock.read });
          const each = Array.from({ length: processes }, () => new MemoryStore({ clock: clock.read }));
          for (const { process, wait } of history) {
            clock.now += wait;
            const store = each[process % processes]!;
            if (!store.consume([{ key: 'k', algorithm: share, cost: 1 }]).allowed) continue;
            const { allowed } = all.consume([{ key: 'k', algorithm: whole, cost: 1 }]);
            expectHolds(allowed, () => ({ policy, processes, at: clock.now }));
          }
        }),
        histories(),
      );
    },
    HISTORY_TIMEOUT_MS,
  );

  it.each(ALL_ALGORITHMS)('%s: one process has the whole limit, and each of many has at least `atLeast`', (name) => {
    assert(
      property(policyOf(name), integer({ min: 1, max: 10_000 }), nat({ max: 50 }), (policy, n, least) => {
        const whole = algorithmOf(policy);
        expect(whole.shares.of(1, least)).toBe(whole);
        const atLeast = Math.max(1, Math.min(least, whole.maxCost));
        const share = whole.shares.of(n, atLeast);
        expect(share.limit).toBe(
          n === 1 ? whole.limit : Math.min(whole.limit, Math.max(atLeast, Math.floor(whole.limit / n))),
        );
        expect(share.maxCost).toBeLessThanOrEqual(whole.maxCost);
        const store = new MemoryStore({ clock: () => START });
        expect(store.consume([{ key: 'k', algorithm: share, cost: atLeast }]).allowed).toBe(true);
      }),
      histories(),
    );
  });

  it('of a leaky bucket: the slots of one of 4 processes are 4 times as far apart', () => {
    const share = algorithmOf({ algorithm: 'leaky-bucket', capacity: 12, drain: 4 }).shares.of(4, 1);
    const store = new MemoryStore({ clock: () => START });
    const ask = () => store.consume([{ key: 'k', algorithm: share, cost: 1 }]);
    const delays = Array.from({ length: 5 }, ask).map(({ allowed, charges }) =>
      allowed ? charges[0]!.delay : 'rejected',
    );
    expect(delays).toEqual([0, 1_000_000, 2_000_000, 3_000_000, 'rejected']);
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
