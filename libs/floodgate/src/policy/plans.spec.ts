import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { policyOf } from '../../../../test/support/arbitrary-policies.js';
import { histories } from '../../../../test/support/property-runs.js';
import { ALGORITHM_NAMES, algorithmEntry } from '../algorithms/algorithms.js';
import { type BoundPolicy, bindPolicy } from './bound-policy.js';
import { NamedPolicies } from './named-policies.js';
import { parsePolicy } from './parse-policy.js';
import type { Policy, PolicyNumbers } from './policy.js';

const BUCKET: Policy = { algorithm: 'token-bucket', name: 'api', capacity: 20, refill: 10 };
const WINDOW: Policy = { algorithm: 'fixed-window', name: 'daily', limit: 100, window: '1d' };

function bound(policy: object, boundTo = 'GET /rides'): BoundPolicy {
  return bindPolicy(parsePolicy(policy, 'Rides.get, @RateLimit'), 'rl', boundTo, 'Rides.get, @RateLimit');
}

/** What a policy decides by, and under which key. */
function meaningOf({ algorithm, keyTail, name, by, cost, numbers }: BoundPolicy): object {
  const { maxCost, limit, rate } = algorithm;
  const wire = algorithm.wire.numbers;
  return { keyTail, name, by, cost, numbers, maxCost, limit, rate, wire, text: algorithm.describe() };
}

/** The meanings of the policies, or why they are refused. */
function outcome(policies: () => BoundPolicy[]): object | string {
  try {
    return policies().map(meaningOf);
  } catch (error) {
    return (error as Error).message.replace(', plans.pro', '');
  }
}

describe.each(ALGORITHM_NAMES)('the plan of a %s', (name) => {
  const { options } = algorithmEntry(name)!;

  it('is a policy with its numbers, whichever of them it changes', () => {
    const changes = fc.tuple(policyOf(name), policyOf(name), fc.subarray([...options], { minLength: 1 }));
    fc.assert(
      fc.property(changes, ([policy, other, changed]) => {
        const values = other as unknown as Record<string, unknown>;
        // An option that is undefined is not given.
        const given = changed.filter((option) => values[option] !== undefined);
        fc.pre(given.length > 0);
        const pro = Object.fromEntries(given.map((option) => [option, values[option]])) as PolicyNumbers;
        const named = { ...policy, name: 'api' };
        const twins = outcome(() => [bound({ ...named, ...pro }), bound(named)]);
        const planned = outcome(() => {
          const own = bound({ ...named, plans: { pro } });
          return [own.plans!.get('pro')!, own];
        });
        expect(planned).toEqual(twins);
      }),
      histories(),
    );
  });
});

describe('plans', () => {
  it('share the window of a client whose plan changes, and begin with a full bucket', () => {
    const tails = (policy: Policy, numbers: PolicyNumbers): (string | undefined)[] => {
      const { keyTail, plans } = bound({ ...policy, plans: { pro: numbers } });
      return [keyTail, plans?.get('pro')?.keyTail];
    };
    const [own, pro] = tails(WINDOW, { limit: 1000 });
    expect(pro).toBe(own);
    const [bucket, other] = tails(BUCKET, { capacity: 100 });
    expect(other).not.toBe(bucket);
  });

  it.each<[Policy, unknown, string]>([
    [BUCKET, { pro: { capacty: 5 } }, `, plans.pro: 'capacty' is not an option of token-bucket (got 5). Did you mean`],
    [BUCKET, { pro: { cost: 5 } }, `, plans.pro: 'cost' is not an option of token-bucket (got 5).`],
    [BUCKET, [], ': plans must be an object of numbers by plan such as { pro: { ... } }, each name 1 to 64 printable'],
    [BUCKET, { '': { capacity: 5 } }, ': plans must be an object of numbers by plan'],
    [BUCKET, 'pro', ': plans must be an object of numbers by plan such as { pro: { ... } }, each name 1 to 64'],
  ])('of %j that are %j are refused: %s', (policy, plans, problem) => {
    expect(() => bound({ ...policy, plans })).toThrow(`Rides.get, @RateLimit${problem}`);
  });

  it('make policies different: of one name and scope, and of one content', () => {
    const named = new NamedPolicies();
    const parse = (plans?: object): unknown => named.parse({ ...WINDOW, ...(plans && { plans }) }, 'test');
    expect(parse({ pro: { limit: 7 } })).toBe(parse({ pro: { limit: 7 } }));
    expect(parse({ pro: { limit: 7 } })).not.toBe(parse({ pro: { limit: 8 } }));
    expect(parse({ pro: { limit: 7 } })).not.toBe(parse({ plus: { limit: 7 } }));
    expect(parse({ pro: { limit: 7 } })).not.toBe(parse());

    const { claims } = named;
    claims.claim('app', parsePolicy({ ...WINDOW, plans: { pro: { limit: 7 } } }, 'one'), 'one');
    claims.claim('app', parsePolicy({ ...WINDOW, plans: { pro: { limit: 7 } } }, 'two'), 'two');
    expect(() => claims.claim('app', parsePolicy(WINDOW, 'three'), 'three')).toThrow(
      `policy 'daily' is a fixed-window (limit 100, window 86400000 ms), but 'daily' of one is a fixed-window ` +
        `(limit 100, window 86400000 ms, plans pro (limit 7, window 86400000 ms))`,
    );
  });
});
