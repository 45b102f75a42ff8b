import { describe, expect, it } from '@jest/globals';
import { parsePolicy } from './parse-policy.js';
import type { Policy } from './policy.js';

const PREFETCH = { for: '100ms', max: 50 };

describe('a prefetch', () => {
  it.each<[string, Policy]>([
    ['capacity', { algorithm: 'token-bucket', capacity: 7, refill: 1, prefetch: PREFETCH }],
    ['limit', { algorithm: 'fixed-window', limit: 7, window: '1s', prefetch: PREFETCH }],
    [
      'limit for its cost',
      { algorithm: 'sliding-window-counter', limit: 79, window: '1s', cost: 20, prefetch: PREFETCH },
    ],
  ])('of a policy with too small a %s has no effect, which boot says', (_, policy) => {
    expect(parsePolicy(policy, 'test').warnings).toEqual([
      expect.stringMatching(/^prefetch has no effect with a limit of/),
    ]);
  });

  it('has an effect from there on, and where a function says the cost', () => {
    expect(
      parsePolicy({ algorithm: 'token-bucket', capacity: 8, refill: 1, prefetch: PREFETCH }, 'test').warnings,
    ).toEqual([]);
    const cost = (): number => 20;
    const policy: Policy = { algorithm: 'fixed-window', limit: 8, window: '1s', cost, prefetch: PREFETCH };
    expect(parsePolicy(policy, 'test').warnings).toEqual([]);
  });
});
