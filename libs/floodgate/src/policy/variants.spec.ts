import { describe, expect, it } from '@jest/globals';
import { type BoundPolicy, bindPolicy } from './bound-policy.js';
import { parsePolicy } from './parse-policy.js';
import type { Policy, PolicyNumbers } from './policy.js';
import { variantOf } from './variants.js';

const BUCKET: Policy = { algorithm: 'token-bucket', name: 'api', capacity: 20, refill: 10 };
const WINDOW: Policy = { algorithm: 'fixed-window', name: 'daily', limit: 100, window: '1d' };

function bound(policy: Policy, boundTo = 'GET /rides', prefix = 'rl'): BoundPolicy {
  return bindPolicy(parsePolicy(policy, 'test'), prefix, boundTo, 'test');
}

describe('variantOf', () => {
  it('changes the numbers that are given and keeps the others', () => {
    expect(variantOf(bound(BUCKET), { capacity: 100 }).algorithm.rate).toBe('100@1/100000');
    expect(variantOf(bound(BUCKET), { refill: '5/s' }).algorithm.rate).toBe('20@1/200000');
    expect(variantOf(bound(WINDOW), { limit: 7 }).algorithm.describe()).toBe('limit 7, window 86400000 ms');
    expect(variantOf(bound(WINDOW), { window: '1h' }).algorithm.describe()).toBe('limit 100, window 3600000 ms');
    const queue: Policy = { algorithm: 'leaky-bucket', capacity: 5, drain: 1 };
    expect(variantOf(bound(queue), { drain: 2 }).algorithm.rate).toBe('5@1/500000');
    for (const algorithm of ['sliding-window-log', 'sliding-window-counter'] as const) {
      expect(variantOf(bound({ algorithm, limit: 5, window: 1000 }), { limit: 9 }).algorithm.limit).toBe(9);
    }
  });

  it('keeps the key of a window whose limit changes, and no other', () => {
    const tail = (policy: Policy, change: PolicyNumbers): boolean =>
      variantOf(bound(policy), change).keyTail === bound(policy).keyTail;
    expect(tail(WINDOW, { limit: 1 })).toBe(true);
    expect(tail(WINDOW, { window: '2d' })).toBe(false);
    expect(tail(BUCKET, { capacity: 21 })).toBe(false);
  });

  it('keeps the shards, under keys of the new numbers', () => {
    const policy = bound({ ...BUCKET, by: 'global', shards: 4 });
    const variant = variantOf(policy, { capacity: 40 });
    expect(variant.shardKeys).toHaveLength(4);
    expect(variant.shardKeys![3]).toMatch(/^rl:\{global\/4\.\d+\}:GET \/rides:api:tb:40@/);
    expect(variant.globalKey).toMatch(/^rl:\{global:api\}.*:tb:40@/);
    expect(() => variantOf(policy, { capacity: 42 })).toThrow(
      `policy 'api' of GET /rides: shards: 4 does not divide 42 evenly, so a part of the limit would never be admitted: 40 or 44 would be right`,
    );
  });

  it.each<[Policy, unknown, string]>([
    [BUCKET, { capacity: -1 }, 'capacity must be a whole number from 0 to 1000000000000, got -1'],
    [BUCKET, { refill: 0 }, 'refill must be a number per second greater than 0'],
    [BUCKET, { capacty: 5 }, `'capacty' is not an option of token-bucket (got 5). Did you mean capacity?`],
    [BUCKET, {}, 'the numbers must be an object with some of those in { capacity: 20, refill: 10 }, got none'],
    [{ ...BUCKET, cost: 10 }, { capacity: 5 }, 'cost must be a whole number from 0 to 5 (what can ever fit)'],
  ])('refuses %j with %p as at boot', (policy, change, problem) => {
    const policyAt = bound(policy);
    const refused = (): unknown => variantOf(policyAt, change as PolicyNumbers, 'here');
    expect(refused).toThrow(problem);
    expect(refused).toThrow(/^here: /); // the second time, too
  });

  it('makes equal changes once, in any order, and keeps 256 of them', () => {
    const policy = bound(BUCKET);
    const first = variantOf(policy, { capacity: 100, refill: 50 });
    expect(variantOf(policy, { refill: 50, capacity: 100 })).toBe(first);
    expect(variantOf(bound(BUCKET), { refill: 50, capacity: 100 })).not.toBe(first);
    for (let capacity = 1000; capacity < 1255; capacity++) variantOf(policy, { capacity });
    expect(variantOf(policy, { capacity: 100, refill: 50 })).toBe(first);
    for (let capacity = 2000; capacity < 2256; capacity++) variantOf(policy, { capacity });
    expect(variantOf(policy, { capacity: 100, refill: 50 })).not.toBe(first);
  });
});
