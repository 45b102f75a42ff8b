import { describe, expect, it } from '@jest/globals';
import { assert, property } from 'fast-check';
import { anySettings } from '../../../test/support/playground.js';
import { histories } from '../../../test/support/property-runs.js';
import { codedPolicy, decoratorOf, problemOf } from './code.js';
import {
  DEFAULTS,
  duration,
  MONTH_MS,
  policiesOf,
  readSetting,
  SETTING_NAMES,
  shownSetting,
  type Unit,
  unitOf,
} from './settings.js';

describe('the numbers of the playground', () => {
  it('say a month of the calendar as the library does, which only the fixed window takes', () => {
    const settings = { ...DEFAULTS, windowMs: MONTH_MS, calendar: 'month', limit: 100, pro: 10 } as const;
    const codes = policiesOf(settings).map((policy) => decoratorOf(codedPolicy(policy, settings, false)));
    expect(codes.slice(2, 4)).toEqual([
      "@RateLimit({ algorithm: 'fixed-window', limit: 100, window: { calendar: 'month', timeZone: 'UTC' }, plans: { pro: { limit: 1000 } } })",
      "@RateLimit({ algorithm: 'sliding-window-log', limit: 100, window: '30d', plans: { pro: { limit: 1000 } } })",
    ]);
    expect(problemOf(settings)).toBeUndefined();
  });

  it('are read as they are shown', () => {
    const law = property(anySettings, (settings) => {
      for (const name of SETTING_NAMES) {
        const value = settings[name];
        expect(readSetting(name, shownSetting(name, value))).toBe(value);
        const unit = unitOf(value);
        expect(readSetting(name, shownSetting(name, value, unit), unit)).toBe(value);
      }
    });
    assert(law, histories(0.2));
  });

  it.each([
    ['capacity', '1000001', 's', 'Capacity must be a whole number from 1 to 1,000,000 tokens, got 1000001'],
    [
      'refill',
      '0.15',
      'h',
      'Refill and drain must be a number with at most one decimal from 0.1 to 1,000,000 tokens, got 0.15',
    ],
    ['windowMs', '', 'm', 'Window must be a number with at most one decimal from 0.1 s to 18,262 d, got nothing'],
    ['windowMs', '18263', 'd', 'Window must be a number with at most one decimal from 0.1 s to 18,262 d, got 18263 d'],
    [
      'leaseMs',
      'x'.repeat(50),
      's',
      `Lease must be a number with at most one decimal from 1 s to 1 d, got '${'x'.repeat(20)}...'`,
    ],
  ] as const)('%s is not %s (%s)', (name, text, unit, problem) => {
    expect(readSetting(name, text, unit)).toBe(problem);
  });

  it.each<[string, Unit, number, string]>([
    ['100', 's', 100_000, '100s'],
    ['1.5', 'h', 5_400_000, '90m'],
    ['24', 'h', 86_400_000, '1d'],
    ['30', 'd', 2_592_000_000, '30d'],
    ['0.1', 's', 100, '100ms'],
  ])('reads a window of %s %s', (text, unit, ms, code) => {
    expect(readSetting('windowMs', text, unit)).toBe(ms);
    expect(duration(ms)).toBe(code);
  });
});
