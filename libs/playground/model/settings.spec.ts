import { describe, expect, it } from '@jest/globals';
import { assert, property } from 'fast-check';
import { anySettings } from '../../../test/support/playground.js';
import { histories } from '../../../test/support/property-runs.js';
import { codedPolicy, decoratorOf, problemOf } from './code.js';
import {
  algorithmOf,
  DEFAULTS,
  duration,
  MONTH_MS,
  policiesOf,
  readSetting,
  readSize,
  SETTING_NAMES,
  shownSetting,
  type Unit,
  unitOf,
  UNITS,
} from './settings.js';

describe('the numbers of the playground', () => {
  it('are policies that the library takes', () => {
    const law = property(anySettings, (settings) => {
      const { capacity, limit, windowMs, atOnce, leaseMs } = settings;
      const algorithms = policiesOf(settings).map(algorithmOf);
      expect(algorithms.map((algorithm) => algorithm.limit)).toEqual([capacity, capacity, limit, limit, limit, atOnce]);
      expect(algorithms.slice(2, 5).map(({ window }) => window)).toEqual(Array(3).fill(windowMs * 1000));
      expect(algorithms[5]!.lease!.length).toBe(leaseMs * 1000);
    });
    assert(law, histories(0.3));
  });

  it('say a month of the calendar as the library does, which only the fixed window takes', () => {
    const settings = { ...DEFAULTS, windowMs: MONTH_MS, calendar: 'month', limit: 100, pro: 10 } as const;
    const codes = policiesOf(settings).map((policy) => decoratorOf(codedPolicy(policy, settings, false)));
    expect(codes.slice(2, 4)).toEqual([
      "@RateLimit({ algorithm: 'fixed-window', limit: 100, window: { calendar: 'month', timeZone: 'UTC' }, plans: { pro: { limit: 1000 } } })",
      "@RateLimit({ algorithm: 'sliding-window-log', limit: 100, window: '30d', plans: { pro: { limit: 1000 } } })",
    ]);
    expect(problemOf(settings)).toBeUndefined();
  });

  it('show the classes of requests in the decorator', () => {
    const [policy] = policiesOf(DEFAULTS);
    expect(decoratorOf(codedPolicy(policy!, DEFAULTS, true))).toBe(
      "@RateLimit({ algorithm: 'token-bucket', capacity: 10, refill: 1, priorities: { high: 1, low: 0.5 } })",
    );
    const smallest = { ...DEFAULTS, atOnce: 1, limit: 1, capacity: 1 };
    const classes = policiesOf(smallest).map((one) => codedPolicy(one, smallest, true));
    expect(() => classes.map(algorithmOf)).not.toThrow();
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
    assert(law, histories(0.3));
  });

  it.each([
    ['capacity', '1000001', 's', 'Capacity must be a whole number from 1 to 1,000,000 tokens, got 1000001'],
    ['capacity', '1.5', 's', 'Capacity must be a whole number from 1 to 1,000,000 tokens, got 1.5'],
    [
      'refill',
      '0.15',
      'h',
      'Refill and drain must be a number with at most one decimal from 0.1 to 1,000,000 tokens, got 0.15',
    ],
    ['windowMs', '', 'm', 'Window must be a number with at most one decimal from 0.1 s to 18,262 d, got nothing'],
    ['windowMs', '18263', 'd', 'Window must be a number with at most one decimal from 0.1 s to 18,262 d, got 18263 d'],
    ['leaseMs', '25', 'h', 'Lease must be a number with at most one decimal from 1 s to 1 d, got 25 h'],
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
    ['15', 'm', 900_000, '15m'],
    ['90', 'm', 5_400_000, '90m'],
    ['1.5', 'h', 5_400_000, '90m'],
    ['24', 'h', 86_400_000, '1d'],
    ['30', 'd', 2_592_000_000, '30d'],
    ['0.1', 's', 100, '100ms'],
  ])('reads a window of %s %s', (text, unit, ms, code) => {
    expect(readSetting('windowMs', text, unit)).toBe(ms);
    expect(duration(ms)).toBe(code);
  });

  it('say a rate in its own unit, which the library counts exactly', () => {
    const [bucket] = policiesOf({ ...DEFAULTS, refill: 100, per: 'h' });
    expect(bucket).toEqual({ algorithm: 'token-bucket', capacity: 10, refill: '100/h' });
    expect(algorithmOf(bucket!).rate).toBe(`10@1/${UNITS.h * 10}`);
  });

  it.each([
    [
      { limit: 1_000_000, windowMs: UNITS.d },
      /^sliding-window-counter: window must be milliseconds or .* from 1 ms to 4503599 ms, got '1d'$/,
    ],
    [
      { capacity: 1_000_000, refill: 0.1, per: 'd' },
      /^token-bucket: refill must be fast enough to pay off 1000000 within 100 years, got/,
    ],
    [{ by: 'global', pro: 2 }, /^token-bucket: plans are for policies that count clients, got by: 'global'/],
    [{ name: 'ä' }, /^token-bucket: name must be .*, got 'ä'$/],
    [{ durationMs: UNITS.d, leaseMs: 1_000 }, /^A request takes at most 100 leases, got 1d with a lease of 1s$/],
  ] as const)('that do not go together are explained in the words of the library: %j', (some, problem) => {
    expect(problemOf({ ...DEFAULTS, ...some })).toMatch(problem);
  });

  it('have a burst of 1 to 100 requests', () => {
    expect(readSize('100')).toBe(100);
    expect(readSize('101')).toBe('A burst must be a whole number from 1 to 100 requests, got 101');
  });

  it('begin with windows and buckets of the same size, so that rows can be compared', () => {
    expect(DEFAULTS.capacity).toBe(DEFAULTS.limit);
    expect(DEFAULTS.refill * (DEFAULTS.windowMs / 1000)).toBe(DEFAULTS.limit);
  });
});
