import { RateLimitConfigError, shown } from '../util/config-error.js';
import type { BoundPolicy } from './bound-policy.js';
import type { ParsedPolicy } from './parse-policy.js';
import { BEHIND_AN_ELSE, whyNotTogether } from './together.js';

/**
 * The policy that an `else` leads to; undefined for a policy without one.
 *
 * @param named parses the policy of a name
 * @param where how error messages begin
 * @throws {RateLimitConfigError} for a policy that is unknown, or that cannot stand behind an `else`
 */
export function parseElse<Context>(
  { elseName }: ParsedPolicy<Context>,
  named: { parse(policy: string, where: string): ParsedPolicy<Context> },
  where: string,
): ParsedPolicy<Context> | undefined {
  if (elseName === undefined) return undefined;
  const policy = named.parse(elseName, `${where}, else`);
  const why = whyNotTogether(policy, BEHIND_AN_ELSE, 'behind an else');
  if (why !== undefined)
    throw new RateLimitConfigError(`${where}, else ${shown(policy.name)}`, why, 'FG_INVALID_POLICY');
  return policy;
}

/** The policies with those that their `else` leads to, each behind the one that it stands in for. */
export function withElse<Context>(policies: readonly BoundPolicy<Context>[]): readonly BoundPolicy<Context>[] {
  if (policies.every((policy) => policy.else === undefined)) return policies;
  return policies.flatMap((policy) => (policy.else === undefined ? [policy] : [policy, policy.else]));
}
