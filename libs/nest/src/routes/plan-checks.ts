import { RateLimitConfigError } from 'floodgate';
import { type ParsedPolicy, shown } from 'floodgate/internal';
import { didYouMean } from 'floodgate/internal-boot';
import type { PlanOptions } from '../options/module-options.js';
import type { RoutePolicies } from './route-policies.js';

const WHERE = 'RateLimitModule, plan';

/**
 * Checks the module's `plan` against the policies that are known at boot.
 *
 * @throws {RateLimitConfigError} when no policy has plans, or none has the fallback: the option would have no effect
 */
export function checkPlans(
  { fallback }: PlanOptions,
  policies: Iterable<ParsedPolicy>,
  routes: Pick<RoutePolicies, 'plans' | 'hasChoosers'>,
): void {
  // What a function chooses is known at run time only.
  if (routes.hasChoosers) return;
  const all = [...Array.from(policies, ({ plans }) => plans), ...routes.plans].filter((plans) => plans !== undefined);
  const names = [...new Set(all.flatMap((plans) => [...plans.keys()]))];
  if (all.length === 0) {
    throw new RateLimitConfigError(
      WHERE,
      'has no effect, because no policy has plans: give one of them plans: { pro: { ... } }, or leave plan out',
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
  if (fallback === undefined || names.includes(fallback)) return;
  throw new RateLimitConfigError(
    WHERE,
    `fallback must be a plan of a policy, got ${shown(fallback)}.${didYouMean(fallback, names)} ` +
      `The plans are ${names.map(shown).join(', ') || 'none'}; without a fallback the policies' own numbers count`,
    'FG_OPTION_WITHOUT_EFFECT',
  );
}

/** The error for a policy with plans that no client can have. */
export function withoutPlan({ name }: ParsedPolicy, where: string): RateLimitConfigError {
  return new RateLimitConfigError(
    where,
    `policy '${name}' has plans, but nothing says which plan a client has: give RateLimitModule ` +
      `plan: { resolve: (request) => ... }, or leave the plans out`,
    'FG_OPTION_WITHOUT_EFFECT',
  );
}

/** This is a warning, not an error: an overridden `identityTag` of the guard may find users. */
export function sharedPlans({ name }: ParsedPolicy, where: string): string {
  return (
    `${where}: policy '${name}' has plans and counts addresses, so clients behind one address share the plan that was found ` +
    `first. Right is by: 'user', 'api-key' or a function, or a resolver of users or keys in the module's identity`
  );
}
