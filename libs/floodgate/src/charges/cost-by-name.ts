import { RateLimitConfigError, shown } from '../util/config-error.js';
import { didYouMean } from '../util/nearest-name.js';

/** The cost of a call, in units of the policies' limits: for all of its policies, or for each that it names. */
export type CallCost = number | Readonly<Record<string, number | undefined>>;

/** Costs by the names of the policies that they are for. */
export type CostByName = Exclude<CallCost, number>;

/** A policy of a call, and the one that its `else` leads to. */
export interface NamedPolicy {
  readonly name: string;
  readonly else: { readonly name: string } | undefined;
}

/** Whether a cost is given by name, and not for all policies. */
export function isByName(cost: unknown): cost is CostByName {
  return typeof cost === 'object' && cost !== null && !Array.isArray(cost);
}

/**
 * The cost of each policy that is named. That of a policy holds for its `else` as well, unless that is named itself.
 *
 * @param policies those that can be named, with their `else`
 * @param where how errors begin
 * @param what the cost is, for the errors
 * @throws {RateLimitConfigError} for any other name, and for a cost that is no whole number from 0
 */
export function costsByName(
  given: CostByName,
  policies: readonly NamedPolicy[],
  where: string,
  what = 'cost',
): ReadonlyMap<string, number> {
  const costs = new Map<string, number>();
  for (const name of Object.keys(given)) {
    const cost = given[name];
    if (cost === undefined) continue;
    if (!policies.some((policy) => policy.name === name || policy.else?.name === name)) {
      throw unknownPolicy(name, policies, where, what);
    }
    costs.set(name, wholeCostOf(cost, name, where, what));
  }
  for (const { name, else: next } of policies) {
    const cost = costs.get(name);
    if (next !== undefined && cost !== undefined && !costs.has(next.name)) costs.set(next.name, cost);
  }
  return costs;
}

function unknownPolicy(
  given: string,
  policies: readonly NamedPolicy[],
  where: string,
  what: string,
): RateLimitConfigError {
  const names = policies.flatMap(({ name, else: next }) => (next === undefined ? [name] : [name, next.name]));
  return new RateLimitConfigError(
    where,
    `the ${what} names ${shown(given)}, which is no policy of the call.${didYouMean(given, names)} Its policies are ` +
      names.map(shown).join(', '),
    'FG_UNKNOWN_POLICY',
  );
}

/**
 * @param name of the policy
 * @param where how the error begins
 * @throws {RateLimitConfigError} for anything but a whole number from 0
 */
export function wholeCostOf(cost: unknown, name: string, where: string, what = 'cost'): number {
  if (Number.isSafeInteger(cost) && (cost as number) >= 0) return cost as number;
  throw new RateLimitConfigError(
    where,
    `the ${what} of policy '${name}' must be a whole number from 0, got ${shown(cost)}`,
  );
}
