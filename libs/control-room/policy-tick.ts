import type { LimitExplanation, PolicyExplanation } from 'nestjs-floodgate';
import type { PolicyTick } from './live.js';
import { numbersOf, type PolicyParameters, stateOf } from './policy-state.js';

/**
 * What a page draws of a route's policies, as a request of one client finds them.
 *
 * @param policies in the order of the result; null in the result: the limiter does not ask the policy
 * @param pods processes that share the limits
 * @param before the last result of the same client and route
 */
export function policyTicksOf(
  policies: readonly PolicyParameters[],
  look: LimitExplanation,
  pods: number,
  before: readonly (PolicyTick | null)[] | undefined,
): (PolicyTick | null)[] {
  const at = Date.parse(look.at);
  return policies.map((policy, i) => {
    const said = look.policies.find((one) => one.policy === policy.name);
    return said === undefined ? null : policyTick(policy, said, at, pods, before?.[i]);
  });
}

function policyTick(
  { algorithm }: PolicyParameters,
  { numbers, level, plan, override, decidedBy }: PolicyExplanation,
  at: number,
  pods: number,
  before: PolicyTick | null | undefined,
): PolicyTick {
  const whole = numbersOf(numbers) ?? null;
  // While Redis is unavailable this process has its share of limit and rate.
  const share = decidedBy === 'local' ? pods : 1;
  const drawn = whole && { ...whole, limit: level?.limit ?? whole.limit, perSecond: whole.perSecond / share };
  const state = drawn && level && stateOf({ algorithm, ...drawn }, level, at, before?.state ?? undefined);
  return {
    numbers: drawn,
    state,
    plan,
    override: override && { change: override.change, expiresAt: override.expiresAt },
  };
}
