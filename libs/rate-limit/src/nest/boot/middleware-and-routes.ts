import { withElse } from '../../policy/else/else-policies.js';
import { sameMeaning } from '../../policy/state-claims.js';
import { RateLimitConfigError } from '../../util/config-error.js';
import type { Route } from '../routes/route-policies.js';
import type { BoundPolicy } from '../types.js';

/**
 * Checks the policies that stand in both the module's middleware and a route. A policy that a function chooses is not known at boot: a
 * request then pays the larger cost.
 *
 * @param where the class and the method of the route, as messages begin
 * @throws {RateLimitConfigError} for classes, because a request has none before its route is known; and for different costs: the
 *   middleware would charge its own even if the route rejects the request. Cost functions are equal only if they are one function
 */
export function checkMiddlewareAndRoute(middleware: Route | undefined, route: Route | undefined, where: string): void {
  if (middleware === undefined || route === undefined) return;
  for (const policy of withElse(route.unconditional)) checkClasses(policy, withElse(middleware.unconditional), where);
  for (const policy of route.unconditional) {
    const before = middleware.unconditional.find((other) => isSame(other, policy));
    if (before === undefined) continue;
    if (before.cost === policy.cost) continue;
    throw new RateLimitConfigError(
      where,
      `policy '${policy.name}' costs ${costOf(policy)} on the route and ${costOf(before)} in the module's middleware: give it one ` +
        `cost, by one name in the module's policies, or give the policy of the route a name of its own`,
      'FG_POLICIES_TOGETHER',
    );
  }
}

function checkClasses({ name, keyTail, priorities }: BoundPolicy, before: readonly BoundPolicy[], where: string): void {
  if (priorities === undefined || !before.some((other) => other.keyTail === keyTail)) return;
  throw new RateLimitConfigError(
    where,
    `policy '${name}' has priorities, and stands in the module's middleware, too. A request has no route there, and so not its class: ` +
      `slow, aborted and unknown requests would fill the reserve. Count all traffic by a policy of another name without priorities, and ` +
      `leave '${name}' to routes`,
    'FG_POLICIES_TOGETHER',
  );
}

/** Whether two policies charge the same identities under the same keys. */
function isSame(one: BoundPolicy, other: BoundPolicy): boolean {
  return one.keyTail === other.keyTail && one.by === other.by && sameMeaning(one, other);
}

function costOf({ cost }: BoundPolicy): string {
  return typeof cost === 'number' ? String(cost) : 'what a function says';
}
