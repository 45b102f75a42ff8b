import { describe, expect, it } from '@jest/globals';
import type { Policy } from '../../policy/policy.js';
import { parsePolicy } from '../../policy/parse-policy.js';
import type { Duration } from '../../util/duration.js';

const WINDOWS = ['fixed-window', 'sliding-window-log', 'sliding-window-counter'] as const;

describe.each(WINDOWS)('the window of a %s', (algorithm) => {
  const warningsOf = (window: Duration) => parsePolicy({ algorithm, limit: 5, window }, 'test').warnings;

  it.each([
    [60, "window is 60 ms; for 60 seconds write '60s' or 60_000, for 60 ms write '60ms'"],
    [1, "window is 1 ms; for 1 second write '1s' or 1_000, for 1 ms write '1ms'"],
    [999, "window is 999 ms; for 999 seconds write '999s' or 999_000, for 999 ms write '999ms'"],
    [1.5, "window is 1.5 ms; for 1.5 seconds write '1.5s' or 1_500, for 1.5 ms write '1.5ms'"],
  ])('warns of the plain number %d, which is probably meant in seconds', (window, warning) => {
    expect(warningsOf(window)).toEqual([warning]);
  });

  it.each([1_000, 60_000, '60ms', '1ms', '999ms', '1s', '60s'])('accepts %p without a warning', (window) => {
    expect(warningsOf(window)).toEqual([]);
  });

  it.each([60, 1.5])('accepts what the warning for %d proposes, and means it', (window) => {
    const wireOf = (given: Duration) =>
      parsePolicy({ algorithm, limit: 5, window: given }, 'test').algorithm.wire.numbers;
    const [warning] = warningsOf(window);
    const [, seconds, number, milliseconds] = /'(.*)' or (\S+), .*'(.*)'/.exec(warning!)!;
    expect(wireOf(seconds!)).toEqual(wireOf(window * 1_000));
    expect(wireOf(Number(number!.replaceAll('_', '')))).toEqual(wireOf(window * 1_000));
    expect(wireOf(milliseconds!)).toEqual(wireOf(window));
  });
});

it('warns of a rate that had to be rounded down', () => {
  const policy: Policy = { algorithm: 'token-bucket', capacity: 100, refill: Math.PI };
  expect(parsePolicy(policy, 'test').warnings).toEqual([
    expect.stringMatching(/^refill is rounded down to \d+ per \d+ microseconds, to be counted exactly$/),
  ]);
});

it.each<[Policy, string[]]>([
  [
    { algorithm: 'token-bucket', capacity: 20, refill: 100 },
    ["refill is 100 per second; for 100 a minute write '100/m', for 100 a second '100/s'"],
  ],
  [
    { algorithm: 'token-bucket', capacity: 5, refill: 5, plans: { pro: { refill: 50 } } },
    [
      expect.stringContaining('refill is 5 per second') as unknown as string,
      expect.stringContaining('plans.pro: refill is 50') as unknown as string,
    ],
  ],
  [
    { algorithm: 'leaky-bucket', capacity: 5, drain: 100 },
    ["drain is 100 per second; for 100 a minute write '100/m', for 100 a second '100/s'"],
  ],
  [{ algorithm: 'token-bucket', capacity: 20, refill: '100/s' }, []],
  [{ algorithm: 'token-bucket', capacity: 100, refill: 99 }, []],
  [
    { algorithm: 'fixed-window', limit: 5, window: '1m', blockFor: 600 },
    ["blockFor is 600 ms; for 600 seconds write '600s' or 600_000, for 600 ms write '600ms'"],
  ],
  [
    { algorithm: 'fixed-window', limit: 5, window: '1m', blockFor: [60, '1h'] },
    [expect.stringContaining('60s') as unknown as string],
  ],
  [
    { algorithm: 'fixed-window', limit: 5, window: '1m', settle: () => 1, expires: 60, atExpiry: 'cancel' },
    ["expires is 60 ms; for 60 seconds write '60s' or 60_000, for 60 ms write '60ms'"],
  ],
])('%j warns of numbers that were perhaps meant otherwise', (policy, warnings) => {
  expect(parsePolicy(policy, 'test').warnings).toEqual(warnings);
});
