import { RateLimitConfigError, shown } from '../util/config-error.js';
import type { BoundPolicy } from './bound-policy.js';
import type { ParsedPolicy } from './parse-policy.js';
import { BEHIND_AN_ELSE, whyNotTogether } from './together.js';

/**
 * Checks the policy that an `else` leads to.
 *
 * @param where how error messages begin
 * @throws {RateLimitConfigError} for a policy that cannot stand behind an `else`
 */
export function checkElse<Context>(policy: ParsedPolicy<Context>, where: string): void {
  const why = whyNotTogether(policy, BEHIND_AN_ELSE, 'behind an else');
  if (why !== undefined)
    throw new RateLimitConfigError(`${where}, else ${shown(policy.name)}`, why, 'FG_INVALID_POLICY');
}

/** The policies with those that their `else` leads to, each behind the one that it stands in for. */
export function withElse<Context>(policies: readonly BoundPolicy<Context>[]): readonly BoundPolicy<Context>[] {
  if (policies.every((policy) => policy.else === undefined)) return policies;
  return policies.flatMap((policy) => (policy.else === undefined ? [policy] : [policy, policy.else]));
}
