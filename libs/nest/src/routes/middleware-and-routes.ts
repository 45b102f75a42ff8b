import { RateLimitConfigError } from 'floodgate';
import { withElse } from 'floodgate/internal-boot';
import type { BoundPolicy } from '../types.js';

/** The contexts whose calls come with an HTTP request, which the middleware has counted. */
const COVERED: readonly string[] = ['http', 'graphql'];

/**
 * Checks that no policy is charged twice for a request: in the module's middleware, and on its route.
 *
 * @param policies those of the route
 * @param context the type of the route's context. The middleware does not see what comes over other connections
 * @param where the class and the method of the route, as messages begin
 * @throws {RateLimitConfigError} for a policy of both, by name and scope; one that an `else` leads to as well
 */
export function checkOnePlace(
  middleware: readonly BoundPolicy[],
  policies: readonly BoundPolicy[],
  context: string,
  where: string,
): void {
  if (middleware.length === 0 || !COVERED.includes(context)) return;
  const before = withElse(middleware);
  const twice = withElse(policies).find(({ name, boundTo }) =>
    before.some((other) => other.name === name && other.boundTo === boundTo),
  );
  if (twice === undefined) return;
  throw new RateLimitConfigError(
    where,
    `policy '${twice.name}' is charged in the module's middleware, and again on this route. Leave it out of the middleware, which counts ` +
      `all HTTP traffic, or leave it out here, or give the policy here another name`,
    'FG_POLICIES_TOGETHER',
  );
}
