import { describe, expect, it } from '@jest/globals';
import { bindPolicy } from '../../policy/bound-policy.js';
import { parsePolicy } from '../../policy/parse-policy.js';
import { variantOf } from '../../policy/variants.js';
import { FIXED_WINDOW, FirstRequestWindows } from './fixed-window.js';

const HOURLY = { name: 'hourly', algorithm: 'fixed-window', limit: 5, window: '1h' } as const;

describe('windows from first requests', () => {
  it('are named by keys, so that no state is read under the other alignment, and are made again from their rate', () => {
    const tailOf = (more: object): string =>
      bindPolicy(parsePolicy({ ...HOURLY, ...more }, 'here'), 'rl', 'app', 'here').keyTail;
    expect(tailOf({})).toBe(':app:hourly:fw:3600000000');
    expect(tailOf({ align: 'clock' })).toBe(':app:hourly:fw:3600000000');
    expect(tailOf({ align: 'first-request' })).toBe(':app:hourly:fw:3600000000@first');
    expect(FIXED_WINDOW.ofRate(5, '3600000000@first')).toEqual(new FirstRequestWindows(5, 3_600_000_000));
    expect(FIXED_WINDOW.ofRate(5, '3600000000@last')).toBeUndefined();
  });

  it('keep their alignment under other numbers, and take another one', () => {
    const bound = bindPolicy(parsePolicy({ ...HOURLY, align: 'first-request' }, 'here'), 'rl', 'app', 'here');
    expect(variantOf(bound, { limit: 9 }).keyTail).toBe(bound.keyTail);
    expect(variantOf(bound, { limit: 9 }).algorithm).toBeInstanceOf(FirstRequestWindows);
    expect(bound.algorithm.shares.of(2, 1)).toBeInstanceOf(FirstRequestWindows);
    expect(variantOf(bound, { align: 'clock' }).algorithm).not.toBeInstanceOf(FirstRequestWindows);
    expect(() => variantOf(bound, { window: { calendar: 'day' } })).toThrow(
      "align must be 'clock' where window is a calendar, got 'first-request'",
    );
  });

  it.each([
    [{ align: 'first' }, "align must be 'clock' or 'first-request', got 'first'"],
    [{ align: null }, "align must be 'clock' or 'first-request', got null"],
    [
      { align: 'first-request', window: { calendar: 'day' } },
      "align must be 'clock' where window is a calendar, got 'first-request'",
    ],
    [{ algorithm: 'sliding-window-log', align: 'clock' }, "'align' is not an option of sliding-window-log"],
  ])('refuse %j', (more, problem) => {
    expect(() => parsePolicy({ ...HOURLY, ...more }, 'here')).toThrow(problem);
  });
});
