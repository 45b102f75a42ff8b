import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { AlgorithmName } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import { ALGORITHM_NAMES } from '../../libs/floodgate/src/algorithms/algorithms.js';
import { MemoryStore } from '../../libs/floodgate/src/stores/memory/memory.store.js';
import { DenialCache } from '../../libs/floodgate/src/layers/denials/denial-cache.js';
import type { Charge, Verdict } from '../../libs/floodgate/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { costFor, costs, policyOrNothingOf } from '../support/arbitrary-policies.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { TestClock } from '../support/test-clock.js';

const START = 1_700_000_000_000_000;
const MAX_MS = 1000;

/** A denial cache before a store. A question takes `transit` microseconds to the store, and as many back. */
class CachedStore {
  questions = 0;
  private readonly denials: DenialCache;

  constructor(
    private readonly store: MemoryStore,
    private readonly clock: TestClock,
    private readonly transit: number,
  ) {
    this.denials = new DenialCache(MAX_MS, () => clock.now / 1000);
  }

  consume(charges: readonly Charge[]): Verdict {
    const denied = this.denials.findSent(charges)?.verdict;
    if (denied !== undefined) return denied;
    this.questions++;
    const sentAt = this.clock.now / 1000;
    this.clock.now += this.transit;
    const verdict = this.store.consume(charges);
    this.clock.now += this.transit;
    this.denials.note(charges, verdict, sentAt);
    return verdict;
  }

  reset(keys: readonly string[]): void {
    this.store.reset(keys);
    this.denials.forget(keys);
  }
}

function setUp(transit = 0): {
  clock: TestClock;
  truth: MemoryStore;
  cached: CachedStore;
} {
  const clock = new TestClock(START);
  const truth = new MemoryStore({ clock: clock.read });
  return { clock, truth, cached: new CachedStore(truth, clock, transit) };
}

describe('a cached denial', () => {
  it.each(ALGORITHM_NAMES)(
    'is the answer that the store would give, whatever other pods charge meanwhile: %s',
    (name) => {
      const steps = fc.array(
        fc.record({
          wait: fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 2_000_000 })),
          policies: fc.constantFrom<number[]>([0], [0], [1], [0, 1]),
          cost: costs,
          other: fc.boolean(),
        }),
        { minLength: 1, maxLength: 60 },
      );
      const first = policyOrNothingOf(name);
      const second = fc.constantFrom<AlgorithmName>(...ALGORITHM_NAMES).chain(policyOrNothingOf);
      fc.assert(
        fc.property(first, second, fc.integer({ min: 0, max: 500 }), steps, (one, two, transit, todo) => {
          const { clock, truth, cached } = setUp(transit);
          const algorithms = [algorithmOf(one), algorithmOf(two)];
          for (const { wait, policies, cost, other } of todo) {
            clock.now += wait;
            const charges = policies.map((i) => ({
              key: `k${i}`,
              algorithm: algorithms[i]!,
              cost: costFor(algorithms[i]!, cost),
            }));
            if (other) {
              truth.consume(charges); // another pod
              continue;
            }
            const before = clock.now;
            const verdict = cached.consume(charges);
            if (clock.now !== before || transit === 0) continue; // the store was asked
            // The cache answered: the store rejects the request now, too.
            const asked = truth.consume(charges);
            expectSame([verdict.allowed, asked.allowed, asked.at], [false, false, before]);
            for (const [i, charge] of verdict.charges.entries()) {
              // A policy that rejected still rejects. A policy that allowed may have been charged by other pods since.
              expectHolds(charge.allowed || (charge.retryAfter > 0 && !asked.charges[i]!.allowed), () => ({
                verdict,
                asked,
              }));
            }
          }
        }),
        histories(),
      );
    },
    HISTORY_TIMEOUT_MS,
  );

  it('is not asked of the store until a policy could allow the request, and returns the time that is left', () => {
    const { clock, cached } = setUp(100);
    const charges = [
      { key: 'k', algorithm: algorithmOf({ algorithm: 'token-bucket', capacity: 1, refill: 2 }), cost: 1 },
    ];
    cached.consume(charges);
    const rejected = cached.consume(charges);
    expect(rejected.charges[0]!.retryAfter).toBe(499_800);
    const asked = cached.questions;
    const sentAt = clock.now - 200;
    for (clock.now += 1_000; clock.now < sentAt + Math.floor(499_800 * 0.998); clock.now += 10_000) {
      const verdict = cached.consume(charges);
      expect(verdict.charges[0]!.retryAfter).toBe(499_800 - (clock.now - sentAt - 200));
    }
    expect(cached.questions).toBe(asked);
    clock.now = sentAt + 500_000;
    expect(cached.consume(charges).allowed).toBe(true);
  });

  it('lasts a second at most, so that a reset by another pod takes effect', () => {
    const { clock, truth, cached } = setUp();
    const charges = [
      { key: 'k', algorithm: algorithmOf({ algorithm: 'fixed-window', limit: 1, window: '1d' }), cost: 1 },
    ];
    cached.consume(charges);
    expect(cached.consume(charges).allowed).toBe(false);
    truth.reset(['k']);
    clock.now += 990_000;
    expect(cached.consume(charges).allowed).toBe(false);
    clock.now += 10_000;
    expect(cached.consume(charges).allowed).toBe(true);
  });

  describe('after a reset of one of its keys', () => {
    const algorithm = algorithmOf({ algorithm: 'fixed-window', limit: 1, window: '1d' });
    const charges = ['client', 'global'].map((key): Charge => ({ key, algorithm, cost: 1 }));
    const store = new MemoryStore({ clock: () => START });
    store.consume(charges);
    const rejection = store.consume(charges);

    it.each([
      ['noted before', 'client', 0, 10],
      ['noted under another key before', 'global', 0, 10],
      ['sent before and noted after it', 'global', 20, 10],
    ])('is not certain: %s', (_, reset, notedAt, resetAt) => {
      let now = 0;
      const denials = new DenialCache(MAX_MS, () => now);
      const note = (): void => denials.note(charges, rejection, 0, 'client');
      for (now = 0; now <= 20; now++) {
        if (now === notedAt) note();
        if (now === resetAt) denials.forget([reset]);
      }
      expect(denials.findSent(charges)).toBeUndefined();
      expect(denials.findSent(charges.slice(1))).toBeUndefined();
    });

    it('is not certain, however many other keys were reset later, and the cache does not keep all of these', () => {
      let now = 1;
      const denials = new DenialCache(MAX_MS, () => now);
      denials.note(charges, rejection, 0, 'client');
      denials.forget(['global']);
      for (now = 2; now < 500; now += 0.01) denials.forget([`other-${now}`]);
      expect(denials.findSent(charges)).toBeUndefined();
      denials.note(charges, rejection, now, 'client');
      now++;
      expect(denials.findSent(charges)).toBeDefined();
      expect((denials as unknown as { resets: Map<string, number> }).resets.size).toBeLessThanOrEqual(10_000);
    });
  });

  it('ends with a reset through this process, and does not hold for a smaller cost or another key', () => {
    const { cached } = setUp();
    const algorithm = algorithmOf({ algorithm: 'token-bucket', capacity: 10, refill: 1 });
    const charge = (cost: number, key = 'k'): Charge[] => [{ key, algorithm, cost }];
    cached.consume(charge(8));
    expect(cached.consume(charge(5)).allowed).toBe(false);
    expect(cached.consume(charge(2)).allowed).toBe(true);
    expect(cached.consume(charge(5, 'other')).allowed).toBe(true);
    cached.reset(['k']);
    expect(cached.consume(charge(5)).allowed).toBe(true);
  });
});
