import { describe, expect, it } from '@jest/globals';
import { durationToMicroseconds, shownDuration } from './duration.js';
import { duration as durationRule, readOption } from './option-rules.js';

describe('a duration', () => {
  it.each([
    [1, 1_000],
    [1.5, 1_500],
    ['1ms', 1_000],
    ['1.5ms', 1_500],
    ['1m', 60_000_000],
    ['1 minute', 60_000_000],
    [9_007_199_254_740, 9_007_199_254_740_000],
  ])('%p is %d microseconds', (duration, microseconds) => {
    expect(durationToMicroseconds(duration)).toBe(microseconds);
  });

  it.each([
    ['zero', 0],
    ['a negative number', -1],
    ['less than a microsecond', 0.0005],
    ['a fraction of a microsecond', 1.0005],
    ['more than 2^53 microseconds', 9_007_199_254_741],
    ['Infinity', Infinity],
    ['an unknown unit', '1 fortnight'],
    ['a number as text', '250'],
    ['undefined', undefined],
    ['an object', {}],
  ])('%s is not a duration', (_, duration) => {
    expect(durationToMicroseconds(duration)).toBeUndefined();
  });
});

describe('an option that is a duration', () => {
  const rule = durationRule('50ms', 0, 10_000);
  const read = (value: unknown): unknown => readOption({ wait: value }, 'wait', rule, 'Here');

  it.each([
    [undefined, 50],
    [0, 0],
    ['0ms', 0],
    [7, 7],
    ['7ms', 7],
    ['1.5s', 1_500],
    ['2.01s', 2_010],
    ['1.001s', 1_001],
    [10_000, 10_000],
    ['10s', 10_000],
  ])('reads %p as %p milliseconds', (value, milliseconds) => {
    expect(read(value)).toBe(milliseconds);
  });

  it.each([-1, 0.5, '0.5ms', 10_001, '11s', '50', 'soon', '', NaN, Infinity, null, true, {}])('refuses %p', (value) => {
    expect(() => read(value)).toThrow(
      "Here: wait must be a duration of whole milliseconds from 0 to '10s', as a number or as text with a unit, got ",
    );
  });

  it('is shown as it can be written', () => {
    for (const milliseconds of [1, 50, 999, 1_000, 1_500, 10_000]) {
      expect(read(shownDuration(milliseconds).replaceAll("'", ''))).toBe(milliseconds);
    }
    expect(shownDuration(0)).toBe('0');
  });
});
