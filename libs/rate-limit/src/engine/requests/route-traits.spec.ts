import { describe, expect, it } from '@jest/globals';
import { ALL_ALGORITHMS, SMALL_POLICIES } from '../../../../../test/support/algorithm-of.js';
import { type BoundPolicy, bindPolicy } from '../../policy/bound-policy.js';
import { parsePolicy } from '../../policy/parse-policy.js';
import { variantOf } from '../../policy/variants.js';
import { routeTraitsOf } from './route-traits.js';

function bound(policy: object): BoundPolicy {
  return bindPolicy(parsePolicy(policy, 'test'), 'fg:', 'app', 'test');
}

const BUCKET = { algorithm: 'token-bucket', capacity: 2, refill: 1 };
const QUEUE = { algorithm: 'leaky-bucket', capacity: 2, drain: 1 };
const LEASES = { algorithm: 'concurrency', limit: 2, lease: '1s' };
const NONE = { queues: false, settles: false, holdsLeases: false, isBeforeRouting: false };

describe('routeTraitsOf', () => {
  it.each([
    ['no policy', [], NONE],
    ['a token bucket', [BUCKET], NONE],
    ['a leaky bucket behind a token bucket', [BUCKET, QUEUE], { ...NONE, queues: true }],
    ['a leaky bucket in shadow, which lets nobody wait', [{ ...QUEUE, mode: 'shadow' }], NONE],
    ['countIf', [{ ...BUCKET, countIf: () => true }], { ...NONE, settles: true }],
    ['settle in shadow', [{ ...BUCKET, settle: () => 1, mode: 'shadow' }], { ...NONE, settles: true }],
    ['leases', [BUCKET, LEASES], { ...NONE, holdsLeases: true }],
  ])('of %s', (_, policies, traits) => {
    expect(routeTraitsOf(policies.map(bound))).toEqual(traits);
  });

  it.each(ALL_ALGORITHMS)('keeps the traits of a %s under the numbers of a plan and of an override', (name) => {
    const settle = name === 'concurrency' ? undefined : (): number => 1;
    const change = 'capacity' in SMALL_POLICIES[name] ? { capacity: 5 } : { limit: 5 };
    const policy = bound({ ...SMALL_POLICIES[name], algorithm: name, settle, plans: { pro: change } });
    const traits = routeTraitsOf([policy]);
    expect(routeTraitsOf([policy.plans!.get('pro')!])).toEqual(traits);
    expect(routeTraitsOf([variantOf(policy, change)])).toEqual(traits);
  });
});
