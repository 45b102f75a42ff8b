import { describe, expect, it } from '@jest/globals';
import { assert, property } from 'fast-check';
import { anySettings } from '../../../test/support/playground.js';
import { histories } from '../../../test/support/property-runs.js';
import {
  algorithmOf,
  decoratorOf,
  DEFAULTS,
  policiesOf,
  readSetting,
  readSize,
  SETTING_NAMES,
  shownSetting,
  withClasses,
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

  it('show the classes of requests in the decorator', () => {
    const [policy] = policiesOf(DEFAULTS);
    expect(decoratorOf(withClasses(policy!))).toBe(
      "@RateLimit({ algorithm: 'token-bucket', capacity: 10, refill: 1, priorities: { high: 1, low: 0.5 } })",
    );
    expect(() =>
      policiesOf({ ...DEFAULTS, atOnce: 1, limit: 1, capacity: 1 })
        .map(withClasses)
        .map(algorithmOf),
    ).not.toThrow();
  });

  it('are read as they are shown', () => {
    const law = property(anySettings, (settings) => {
      for (const name of SETTING_NAMES) {
        expect(readSetting(name, shownSetting(name, settings[name]))).toBe(settings[name]);
      }
    });
    assert(law, histories(0.3));
  });

  it.each([
    ['capacity', '61', 'Capacity must be a whole number from 1 to 60, got 61'],
    ['capacity', '1.5', 'Capacity must be a whole number from 1 to 60, got 1.5'],
    ['refill', '0', 'Refill and drain must be a number with at most one decimal from 0.1 to 20 /s, got 0'],
    ['refill', '0.15', 'Refill and drain must be a number with at most one decimal from 0.1 to 20 /s, got 0.15'],
    ['windowMs', '', 'Window must be a whole number from 1 to 60 s, got nothing'],
    ['leaseMs', 'x'.repeat(50), `Lease must be a whole number from 1 to 60 s, got '${'x'.repeat(20)}...'`],
  ] as const)('%s is not %s', (name, text, problem) => {
    expect(readSetting(name, text)).toBe(problem);
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
