import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { AlgorithmName } from '../../libs/rate-limit/src/algorithms/algorithm.js';
import { ALGORITHM_NAMES } from '../../libs/rate-limit/src/algorithms/algorithms.js';
import { MemoryStore } from '../../libs/rate-limit/src/stores/memory/memory.store.js';
import { DenialCache } from '../../libs/rate-limit/src/limiter/denial-cache.js';
import type { Charge, Verdict } from '../../libs/rate-limit/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { costFor, costs, policyOf } from '../support/arbitrary-policies.js';
import { expectSame } from '../support/expect-same.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { TestClock } from '../support/test-clock.js';

const START = 1_700_000_000_000_000;
const MAX_MS = 1000;

/** Asks a store that takes `transit` microseconds to be reached and as many to be heard, unless it need not be asked. */
class Remembering {
  questions = 0;
  private readonly refusals: DenialCache;

  constructor(
    private readonly store: MemoryStore,
    private readonly clock: TestClock,
    private readonly transit: number,
  ) {
    this.refusals = new DenialCache(MAX_MS, () => clock.now / 1000);
  }

  consume(charges: readonly Charge[]): Verdict {
    const refused = this.refusals.find(charges);
    if (refused !== undefined) return refused;
    this.questions++;
    const sentAt = this.clock.now / 1000;
    this.clock.now += this.transit;
    const verdict = this.store.consume(charges);
    this.clock.now += this.transit;
    this.refusals.note(charges, verdict, sentAt);
    return verdict;
  }

  reset(keys: readonly string[]): void {
    this.store.reset(keys);
    this.refusals.forget(keys);
  }
}

function setUp(transit = 0): {
  clock: TestClock;
  truth: MemoryStore;
  remembering: Remembering;
} {
  const clock = new TestClock(START);
  const truth = new MemoryStore({ clock: clock.read });
  return { clock, truth, remembering: new Remembering(truth, clock, transit) };
}

describe('a remembered refusal', () => {
  it.each(ALGORITHM_NAMES)(
    'is what the store would say, whatever others charge meanwhile: %s',
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
      const second = fc.constantFrom<AlgorithmName>(...ALGORITHM_NAMES).chain(policyOf);
      fc.assert(
        fc.property(policyOf(name), second, fc.integer({ min: 0, max: 500 }), steps, (one, two, transit, todo) => {
          const { clock, truth, remembering } = setUp(transit);
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
            const asIs = truth.consume(charges.map((charge) => ({ ...charge, cost: 0 })));
            const before = clock.now;
            const verdict = remembering.consume(charges);
            if (clock.now !== before || transit === 0) continue; // it asked
            // Not asked: whoever does ask now is refused, and at the retryAfter told is not refused before it is due.
            expect(verdict.allowed).toBe(false);
            const asked = truth.consume(charges);
            expectSame(asked.allowed, false);
            // A policy that refused refuses still; one that did not may have been charged by others since.
            const refused = (_: unknown, i: number): boolean => !verdict.charges[i]!.allowed;
            expectSame(
              asked.charges.filter(refused).some((charge) => charge.allowed),
              false,
            );
            expect(asIs.at).toBe(clock.now);
            for (const charge of verdict.charges) expect(charge.allowed || charge.retryAfter > 0).toBe(true);
          }
        }),
        histories(),
      );
    },
    HISTORY_TIMEOUT_MS,
  );

  it('costs the store nothing until a policy could let the request pass, and tells the time that is left', () => {
    const { clock, remembering } = setUp(100);
    const charges = [
      { key: 'k', algorithm: algorithmOf({ algorithm: 'token-bucket', capacity: 1, refill: 2 }), cost: 1 },
    ];
    remembering.consume(charges);
    const refused = remembering.consume(charges);
    expect(refused.charges[0]!.retryAfter).toBe(499_800);
    const asked = remembering.questions;
    const sentAt = clock.now - 200;
    for (clock.now += 1_000; clock.now < sentAt + Math.floor(499_800 * 0.998); clock.now += 10_000) {
      const verdict = remembering.consume(charges);
      expect(verdict.charges[0]!.retryAfter).toBe(499_800 - (clock.now - sentAt - 200));
    }
    expect(remembering.questions).toBe(asked);
    clock.now = sentAt + 500_000;
    expect(remembering.consume(charges).allowed).toBe(true);
  });

  it('lasts a second at most, so that what others reset is noticed', () => {
    const { clock, truth, remembering } = setUp();
    const charges = [
      { key: 'k', algorithm: algorithmOf({ algorithm: 'fixed-window', limit: 1, window: '1d' }), cost: 1 },
    ];
    remembering.consume(charges);
    expect(remembering.consume(charges).allowed).toBe(false);
    truth.reset(['k']);
    clock.now += 990_000;
    expect(remembering.consume(charges).allowed).toBe(false);
    clock.now += 10_000;
    expect(remembering.consume(charges).allowed).toBe(true);
  });

  describe('once one of its keys was reset', () => {
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
      const refusals = new DenialCache(MAX_MS, () => now);
      const note = (): void => refusals.note(charges, rejection, 0, 'client');
      for (now = 0; now <= 20; now++) {
        if (now === notedAt) note();
        if (now === resetAt) refusals.forget([reset]);
      }
      expect(refusals.find(charges)).toBeUndefined();
      expect(refusals.find(charges.slice(1))).toBeUndefined();
    });

    it('is certain if it was sent after that, and so are those of other keys', () => {
      let now = 5;
      const refusals = new DenialCache(MAX_MS, () => now);
      refusals.forget(['global', 'another']);
      now = 7;
      refusals.note(charges, rejection, 6, 'client');
      expect(refusals.find(charges)).toBeDefined();
      refusals.forget(['a third']);
      expect(refusals.find(charges)).toBeDefined();
    });

    it('is not certain however many others were reset after it, and these are not kept', () => {
      let now = 1;
      const refusals = new DenialCache(MAX_MS, () => now);
      refusals.note(charges, rejection, 0, 'client');
      refusals.forget(['global']);
      for (now = 2; now < 500; now += 0.01) refusals.forget([`other-${now}`]);
      expect(refusals.find(charges)).toBeUndefined();
      refusals.note(charges, rejection, now, 'client');
      now++;
      expect(refusals.find(charges)).toBeDefined();
      expect((refusals as unknown as { resets: Map<string, number> }).resets.size).toBeLessThanOrEqual(10_000);
    });
  });

  it('is forgotten by a reset through this process, and says nothing of a smaller cost or another policy', () => {
    const { remembering } = setUp();
    const algorithm = algorithmOf({ algorithm: 'token-bucket', capacity: 10, refill: 1 });
    const charge = (cost: number, key = 'k'): Charge[] => [{ key, algorithm, cost }];
    remembering.consume(charge(8));
    expect(remembering.consume(charge(5)).allowed).toBe(false);
    expect(remembering.consume(charge(2)).allowed).toBe(true);
    expect(remembering.consume(charge(5, 'other')).allowed).toBe(true);
    remembering.reset(['k']);
    expect(remembering.consume(charge(5)).allowed).toBe(true);
  });
});
