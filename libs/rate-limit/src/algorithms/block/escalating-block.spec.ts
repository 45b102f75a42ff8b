import { describe, expect, it } from '@jest/globals';
import { MemoryStore } from '../../stores/memory/memory.store.js';
import { algorithmOf } from '../../testing/conformance/small-policies.js';
import { BlockAlgorithm } from './block.js';
import { EscalatingBlockAlgorithm } from './escalating-block.js';

const MINUTE = 60_000_000;
const CENTURY = 36_525 * 1_440 * MINUTE;
const NOW = Date.UTC(2026, 0, 1) * 1000;

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

  it('is not evicted from a full memory store for invented identities while its client is remembered', () => {
    let now = NOW;
    const store = new MemoryStore({ clock: () => now, maxKeys: 50 });
    const one = algorithmOf({ algorithm: 'fixed-window', limit: 1, window: '1h' });
    const block = { key: 'block', algorithm: new EscalatingBlockAlgorithm(1, [1_000_000, 5_000_000]), cost: 1 };
    const steps: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      steps.push(store.consume([{ key: 'key', algorithm: one, cost: 2, block }]).charges[0]!.blockStep);
      now += 5_000_000; // the block has ended
      for (let j = 0; j < 500; j++) store.consume([{ key: `invented-${i}-${j}`, algorithm: one, cost: 1 }]);
    }
    expect(steps).toEqual([1, 2, 2]);
  });
});
