import type { Decision } from '../policy/decision.js';
import { takes } from '../stores/charge.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import { chargeOfDecision } from './judged-policy.js';

/** What a decision has charged to one policy. */
export interface ChargedCost {
  /** The policy's name; `'default'` when it has none. */
  readonly policy: string;
  /** Units of the policy's limit: a whole number from 1. A cost that is settled later is the one that was reserved. */
  readonly cost: number;
}

/**
 * Returns what a decision has charged: the cost for each of its policies, then for its shadows. A rejection and a peek have
 * charged nothing, and neither has a shadow that the request did not fit.
 *
 * @param decision of `@RateLimitDecision()`, `rateLimitDecisionOf`, `RateLimiter` or `onDecision`
 * @throws {RateLimitConfigError} for a copy, such as one that was parsed: it no longer knows its charges
 * @example
 * ```ts
 * chargedBy(decision); // [{ policy: 'tokens', cost: 120 }]
 * ```
 */
export function chargedBy(decision: Pick<Decision, 'allowed' | 'policies' | 'shadow'>): readonly ChargedCost[] {
  const { allowed, policies, shadow = [] } = decision;
  if (!allowed) return [];
  return [...policies, ...shadow].flatMap((one) => {
    const charge = chargeOfDecision(one);
    if (charge === undefined) {
      throw new RateLimitConfigError('chargedBy', `takes a decision as it was made, got a copy: ${shown(decision)}`);
    }
    return one.allowed && takes(charge) ? { policy: one.policy, cost: charge.cost } : [];
  });
}
