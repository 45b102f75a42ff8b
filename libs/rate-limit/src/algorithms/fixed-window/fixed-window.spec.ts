import { describe, expect, it } from '@jest/globals';
import { FixedWindow } from './fixed-window.js';

const DAY = 86_400_000_000;

describe('the fixed window', () => {
  it.each([
    [0, DAY],
    [1, DAY - 1],
    [DAY - 1, 1],
    [DAY, DAY],
    [19_900 * DAY + 5, DAY - 5],
  ])('is aligned to the clock: at %d its window of a day has %d microseconds left', (now, left) => {
    expect(new FixedWindow(5, DAY).read(undefined, now, 0)).toEqual({ count: 0, left });
  });

  it('counts the charges of its window only', () => {
    const window = new FixedWindow(5, 1_000);
    const state = window.write(window.charge(window.read(undefined, 1_500, 0), 3), 1_500);
    expect(state).toEqual({ start: 1_000, count: 3 });
    expect(window.read(state, 1_999, 0)).toEqual({ count: 3, left: 1 });
    expect(window.read(state, 2_000, 0)).toEqual({ count: 0, left: 1_000 });
  });

  it('continues a window that lies ahead within the skew, and moves the count of a window further ahead', () => {
    const window = new FixedWindow(5, 1_000);
    const state = { start: 2_000, count: 3 };
    expect(window.read(state, 1_900, 100)).toEqual({ count: 3, left: 1_100 });
    expect(window.isAhead(state, 1_900, 100)).toBe(false);
    expect(window.read(state, 1_899, 100)).toEqual({ count: 3, left: 101 });
    expect(window.isAhead(state, 1_899, 100)).toBe(true);
  });

  it('counts in windows of 100 years', () => {
    const century = 36_525 * DAY;
    const window = new FixedWindow(1_000_000_000_000, century);
    const now = 19_900 * DAY;
    const level = window.charge(window.read(undefined, now, 0), 1_000_000_000_000);
    expect(window.write(level, now)).toEqual({ start: 0, count: 1_000_000_000_000 });
    expect(window.retryAfter(level)).toBe(century - now);
    expect(window.fits(level, 1)).toBe(false);
  });
});
