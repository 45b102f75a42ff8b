import { beforeEach, describe, expect, it } from '@jest/globals';
import { isLingerMs, Linger } from './linger.js';

let now: number;
beforeEach(() => void (now = 0));

/** A linger that has seen requests come one by one, `rate` a second, for so long. */
function seen(rate: number, ms: number, forMs = 5_000): Linger {
  const linger = new Linger(ms, () => now);
  for (const end = now + forMs; now < end; now += 1_000 / rate) linger.left(1);
  return linger;
}

describe('Linger', () => {
  it.each([
    { rate: 10, ms: 5, worthIt: false },
    { rate: 150, ms: 5, worthIt: false },
    { rate: 250, ms: 5, worthIt: true },
    { rate: 700, ms: 1, worthIt: false },
    { rate: 1_100, ms: 1, worthIt: true },
    { rate: 4_000, ms: 1, worthIt: true },
  ])('$rate requests/s, $ms ms: worth it: $worthIt', ({ rate, ms, worthIt }) => {
    expect(seen(rate, ms).isWorthIt(1)).toBe(worthIt);
  });

  it('rests for a second when others stay away, and tries again', () => {
    const linger = seen(4_000, 4);
    let waits = 0;
    for (; linger.isWorthIt(1); waits++) linger.waited(0, 1);
    expect(waits).toBe(11);
    for (const end = now + 999; now < end; now += 0.25) linger.left(1);
    expect(linger.isWorthIt(1)).toBe(false);
    now += 1;
    expect(linger.isWorthIt(1)).toBe(true);
  });

  it('goes on while one request in two waits has company', () => {
    const linger = seen(1_000, 4);
    for (let i = 0; i < 100; i++) {
      linger.waited(i % 2 === 0 ? 2 : 0, 1);
      expect(linger.isWorthIt(1)).toBe(true);
    }
  });

  it.each([
    [0, true],
    [5, true],
    [6, false],
    [-1, false],
    [0.5, false],
    ['2', false],
    [NaN, false],
    [undefined, false],
  ])('%p as milliseconds: %p', (ms, right) => {
    expect(isLingerMs(ms)).toBe(right);
  });
});
