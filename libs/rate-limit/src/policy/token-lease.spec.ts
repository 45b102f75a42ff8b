import { describe, expect, it } from '@jest/globals';
import { parsePolicy } from './parse-policy.js';
import type { Policy } from './policy.js';

const LEASE = { for: '100ms', max: 50 };

describe('a lease', () => {
  it.each<[string, Policy]>([
    ['capacity', { algorithm: 'token-bucket', capacity: 7, refill: 1, lease: LEASE }],
    ['limit', { algorithm: 'fixed-window', limit: 7, window: '1s', lease: LEASE }],
    ['limit for its cost', { algorithm: 'sliding-window-counter', limit: 79, window: '1s', cost: 20, lease: LEASE }],
  ])('of a policy with too small a %s has no effect, which boot says', (_, policy) => {
    expect(parsePolicy(policy, 'test').warnings).toEqual([
      expect.stringMatching(/^lease has no effect with a limit of/),
    ]);
  });

  it('has an effect from there on, and where a function says the cost', () => {
    expect(parsePolicy({ algorithm: 'token-bucket', capacity: 8, refill: 1, lease: LEASE }, 'test').warnings).toEqual(
      [],
    );
    const cost = (): number => 20;
    const policy: Policy = { algorithm: 'fixed-window', limit: 8, window: '1s', cost, lease: LEASE };
    expect(parsePolicy(policy, 'test').warnings).toEqual([]);
  });

  it('says so of a plan alone', () => {
    const policy: Policy = {
      algorithm: 'fixed-window',
      limit: 80,
      window: '1s',
      plans: { free: { limit: 5 } },
      lease: LEASE,
    };
    expect(parsePolicy(policy, 'test').warnings).toEqual([expect.stringMatching(/^plans\.free: lease has no effect/)]);
  });
});
