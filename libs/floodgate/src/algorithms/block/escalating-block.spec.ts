import { describe, expect, it } from '@jest/globals';
import { array, assert, integer, nat, property } from 'fast-check';
import { expectHolds, expectSame } from '../../../../../test/support/expect-same.js';
import { histories } from '../../../../../test/support/property-runs.js';
import { MemoryStore } from '../../stores/memory/memory.store.js';
import { algorithmOf } from '../../testing/conformance/small-policies.js';
import { type AnyBlockAlgorithm, type Block, BlockAlgorithm, type BlockLevel } from './block.js';
import { EscalatingBlockAlgorithm } from './escalating-block.js';

const MINUTE = 60_000_000;
const CENTURY = 36_525 * 1_440 * MINUTE;
const NOW = Date.UTC(2026, 0, 1) * 1000;
const SKEW = 10;

describe('an escalating block', () => {
  it('has numbers of its own in keys, of one length', () => {
    const rates = [
      [MINUTE, 2 * MINUTE],
      [MINUTE, 3 * MINUTE],
      [MINUTE, 2 * MINUTE, 3 * MINUTE],
      [1, 2_000_000],
      [12, 1_000_000],
      Array.from({ length: 16 }, (_, i) => CENTURY - 16 + i),
    ].map((durations) => new EscalatingBlockAlgorithm(3, durations).rate);
    expect(new Set(rates).size).toBe(rates.length);
    for (const rate of rates) expect(rate).toMatch(/^3@[\w-]{13}$/);
    // Old states of a single duration lie under other keys.
    expect(new EscalatingBlockAlgorithm(3, [1, 2]).code).not.toBe(new BlockAlgorithm(3, 1).code);
    // It must never change: it is in the keys of a running Redis.
    expect(rates[0]).toBe('3@253kgbtpccnra');
  });

  it('counts with whole numbers below 2^53, whatever its durations', () => {
    const algorithm = new EscalatingBlockAlgorithm(1, [CENTURY - 1, CENTURY]);
    const first = algorithm.charge(algorithm.read(undefined, NOW, 0));
    const state = algorithm.write(algorithm.charge({ ...first, left: 0, count: 0 }), NOW);
    expect(state).toEqual({ ends: NOW + CENTURY, count: 1, step: 2, forgottenAt: NOW + 2 * CENTURY });
    expect(Number.isSafeInteger(state.forgottenAt)).toBe(true);
    expect(algorithm.expiresAt(algorithm.read(state, NOW, 0), NOW)).toBe(state.forgottenAt);
  });

  const one = algorithmOf({ algorithm: 'fixed-window', limit: 1, window: '1h' });

  it.each<[string, AnyBlockAlgorithm, number[]]>([
    ['it lasts', new BlockAlgorithm(1, MINUTE), [60_000_000, 55_000_000, 50_000_000]],
    ['its client is remembered', new EscalatingBlockAlgorithm(1, [1_000_000, 5_000_000]), [1e6, 5e6, 5e6]],
  ])('is not evicted from a full memory store for invented identities while %s', (_, algorithm, expected) => {
    let now = NOW;
    const store = new MemoryStore({ clock: () => now, maxKeys: 50 });
    const block = { key: 'block', algorithm, cost: 1 };
    const lasts: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      lasts.push(store.consume([{ key: 'key', algorithm: one, cost: 2, block }]).charges[0]!.blockedFor);
      now += 5_000_000;
      for (let j = 0; j < 500; j++) store.consume([{ key: `invented-${i}-${j}`, algorithm: one, cost: 1 }]);
    }
    expect(lasts).toEqual(expected);
  });

  it.each<[string, (after: number) => AnyBlockAlgorithm]>([
    ['a single block', (after) => new BlockAlgorithm(after, 7)],
    ['an escalating block', (after) => new EscalatingBlockAlgorithm(after, [7, 20, 31])],
  ])('%s is carried on within the skew, is ahead where it would be read anew, and expires when it is open', (_, of) => {
    const answersOf = ({ left, count, step }: BlockLevel): unknown => ({ left, count, step });
    const waits = array(nat({ max: 25 }), { minLength: 1, maxLength: 8 });
    const law = property(integer({ min: 1, max: 3 }), waits, nat({ max: 100 }), nat({ max: 60 }), (after, ...given) => {
      const [rejections, back, later] = given;
      const algorithm = of(after);
      let [state, now]: [Block | undefined, number] = [undefined, NOW];
      for (const wait of rejections) {
        now += wait;
        const level = algorithm.read(state, now, SKEW);
        if (algorithm.fits(level)) state = algorithm.write(algorithm.charge(level), now, state);
      }
      const end = algorithm.expiresAt(algorithm.read(state, now, SKEW), now);
      expectSame(algorithm.read(state, end, SKEW), algorithm.read(undefined, end, SKEW));
      expectHolds(
        end === now || algorithm.read(state, end - 1, SKEW) !== algorithm.read(undefined, end, SKEW),
        () => given,
      );
      const then = now - back;
      const most = algorithm.durations.at(-1)! + SKEW;
      expectHolds(algorithm.read(state, then, SKEW).left <= most, () => ({ given, back }));
      if (algorithm.isAhead(state!, then, SKEW)) return expectHolds(back > SKEW, () => given);
      const again = algorithm.write(algorithm.read(state, then, SKEW), then, { ...state! });
      for (const at of [then, then + later]) {
        const [kept, carried] = [state, again].map((each) => answersOf(algorithm.read(each, at, SKEW)));
        expectSame(carried, kept);
      }
    });
    assert(law, histories(10));
  });
});
