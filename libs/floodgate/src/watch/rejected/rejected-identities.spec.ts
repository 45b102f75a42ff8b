import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { ownTimers } from '../../../../../test/support/own-timers.js';
import { PERIOD_MS, RejectedIdentities } from './rejected-identities.js';

const MINUTE = 60_000;

let timers: () => number;
beforeEach(() => {
  jest.useFakeTimers();
  timers = ownTimers('rejected-identities.ts');
});
afterEach(() => void jest.useRealTimers());

it('speaks of the last 5 to 10 minutes: of every rejection of the last 5, and of none before the last 10', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 4 * MINUTE }), { minLength: 1, maxLength: 60 }), (gaps) => {
      const rejected = new RejectedIdentities();
      const instants: number[] = [];
      for (const gap of gaps) {
        jest.advanceTimersByTime(gap);
        const since = (ms: number): number => instants.filter((instant) => instant > Date.now() - ms).length;
        const { atLeast = 0, atMost = 0 } = rejected.top().identities[0] ?? {};
        expect(atLeast).toBe(atMost);
        expect(atLeast).toBeGreaterThanOrEqual(since(PERIOD_MS));
        expect(atLeast).toBeLessThanOrEqual(since(2 * PERIOD_MS));
        rejected.count('user:ada', 'rides');
        instants.push(Date.now());
      }
      jest.advanceTimersByTime(2 * PERIOD_MS);
    }),
  );
});

it('forgets what nobody has repeated, and has a timer only until then', () => {
  const rejected = new RejectedIdentities();
  expect(timers()).toBe(0);
  rejected.count('user:ada', 'rides');
  jest.advanceTimersByTime(PERIOD_MS);
  expect(rejected.top().identities).toHaveLength(1);
  jest.advanceTimersByTime(PERIOD_MS);
  expect(rejected.top()).toEqual({ identities: [], othersAtMost: 0 });
  expect(timers()).toBe(0);
});

it.each(['tag', 'hash'] as const)('never shows an API key, with the naming %s', (naming) => {
  const rejected = new RejectedIdentities(naming);
  // A guard of the application may make tags with the key itself.
  for (const tag of ['key:sk_live_1', 'api-key:sk_live_1', 'key:#abcdefghijklmnopqrstuv']) rejected.count(tag, 'rides');
  rejected.count('user:ada', 'rides');
  const text = JSON.stringify(rejected.top());
  expect(text).not.toContain('sk_live_1');
  expect(text).toContain('key:#abcdefghijklmnopqrstuv');
  expect(text.includes('user:ada')).toBe(naming === 'tag');
});
