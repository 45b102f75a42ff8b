import { describe, expect, it } from '@jest/globals';
import { type BoundPolicy, bindPolicy } from './bound-policy.js';
import { checkTogether } from './check-together.js';
import { parsePolicy } from './parse-policy.js';

function policy(name: string, next?: BoundPolicy): BoundPolicy {
  const given = { name, algorithm: 'fixed-window', limit: 5, window: '1m' };
  const bound = bindPolicy(parsePolicy(given, 'test'), 'fg:', 'app', 'test');
  return next === undefined ? bound : Object.assign(Object.create(bound) as BoundPolicy, { else: next });
}

const check =
  (...policies: BoundPolicy[]) =>
  (): void =>
    checkTogether(policies, 'GET /rides');

describe('policies that stand together', () => {
  it('may not be charged twice for one request', () => {
    const credits = policy('credits');
    expect(check(policy('daily', credits), policy('monthly'))).not.toThrow();
    expect(check(policy('daily'), policy('daily'))).toThrow(
      "GET /rides: two policies are named 'daily' and would count under one key: give each its own name",
    );
    expect(check(policy('daily', credits), policy('monthly', credits))).toThrow(
      "GET /rides: the policy 'credits' would be charged twice for one request: the else of 'daily' and of 'monthly' leads to it. " +
        'Let a request run over to it from one policy',
    );
    expect(check(policy('daily', credits), credits)).toThrow(
      "the policy 'credits' would be charged twice for one request: the else of 'daily' leads to it, and it stands beside. Let",
    );
  });
});
