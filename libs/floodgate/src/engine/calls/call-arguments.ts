import type { BoundPolicy } from '../../policy/bound-policy.js';
import { checkTag, MAX_TAG_BYTES, tagFor } from '../../identity/identity-tag.js';
import type { Identity } from '../../identity/identity.js';
import { didYouMean } from '../../util/nearest-name.js';
import { withElse } from '../../policy/else-policies.js';
import { RateLimitConfigError, shapeOf, shown } from '../../util/config-error.js';
import { type CallCost, isByName, wholeCostOf } from '../../charges/cost-by-name.js';
import { unknownClass } from '../../policy/priorities.js';
import { zoneNamed } from '../../functions/time-zones.js';

/** An identity tag, as keys contain it between braces: a kind, a colon, and an escaped value or a hash. */
const TAG = /^[a-z0-9-]{1,16}:[ !"#$%&-9;-z|~]*$/;
/** Names that a message lists at most. */
const MAX_LISTED = 20;

/**
 * The tag of an identity that is given as `{ kind, value }` or as its tag.
 *
 * @param ipv6Prefix bits of an IPv6 address that count
 * @throws {RateLimitConfigError} for anything else
 */
export function tagOf(given: unknown, where: string, ipv6Prefix: number): string {
  if (typeof given === 'string') checkTag(given, where);
  if (typeof given === 'string' && given.length <= MAX_TAG_BYTES && TAG.test(given)) return given;
  if (typeof given === 'object' && given !== null) return tagFor(given as Identity, where, ipv6Prefix);
  throw new RateLimitConfigError(
    where,
    `identity must be { kind, value } or a tag such as 'user:rider-1', got ${shapeOf(given)}`,
  );
}

/** Whether a value looks like `{ kind, value }` and not like a policy. */
export function isIdentity(given: unknown): given is Identity {
  return typeof given === 'object' && given !== null && 'kind' in given && !('algorithm' in given);
}

/**
 * Checks the order of arguments, which all methods of `RateLimiter` share.
 *
 * @param first the argument in the place of policies or a route
 * @param isName whether a text is the name of a policy or a route
 * @throws {RateLimitConfigError} for an identity in the first place, or policies or a route in the second
 */
export function checkOrder(method: string, first: unknown, second: unknown, isName?: (text: string) => boolean): void {
  const isTag = isName !== undefined && typeof first === 'string' && TAG.test(first) && !isName(first);
  const got = misplaced(first, second, isTag);
  if (got === undefined) return;
  const route = typeof first === 'function' ? `[${first.name}, 'method']` : "'login'";
  throw new RateLimitConfigError(
    `RateLimiter.${method}`,
    `takes (policies or route, identity, options), got ${got}: give ` +
      `${method}(${route}, { kind: 'user', value: 'rider-1' })`,
  );
}

/** Names a misplaced argument, for a message; undefined if the order is right. */
function misplaced(first: unknown, second: unknown, isTag: boolean): string | undefined {
  if (isIdentity(first) || isTag) return 'the identity first';
  if (typeof first === 'function') return `the class ${first.name === '' ? 'without a name' : first.name} first`;
  if (!isPlace(second)) return undefined;
  return Array.isArray(second) ? 'an array second' : 'a policy or a route second';
}

/** Whether a value is policies or a route, where an identity belongs. */
function isPlace(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false;
  return Array.isArray(given) || 'algorithm' in given || 'policy' in given || 'route' in given;
}

/** The error for an unknown name. It lists the known names. */
export function unknownName(
  what: 'policy' | 'route',
  given: string,
  known: readonly string[],
  where: string,
): RateLimitConfigError {
  const some = known.slice(0, MAX_LISTED).map(shown).join(', ');
  const more = known.length > MAX_LISTED ? ` and ${known.length - MAX_LISTED} more (see RateLimiter.table)` : '';
  const plural = what === 'policy' ? 'policies' : 'routes';
  return new RateLimitConfigError(
    where,
    `there is no ${what} named ${shown(given)}.${didYouMean(given, known)} The application's ${plural} are ${some === '' ? 'none' : some}${more}`,
    what === 'policy' ? 'FG_UNKNOWN_POLICY' : 'FG_UNKNOWN_ROUTE',
  );
}

/**
 * @param where how the error begins: the method that was called
 * @throws {RateLimitConfigError} when `plan` is not a plan, or would have no effect
 */
export function checkPlan(plan: unknown, policies: readonly BoundPolicy[], where: string): void {
  if (plan !== null && typeof plan !== 'string') {
    throw new RateLimitConfigError(where, `plan must be the name of a plan, or null for none, got ${shown(plan)}`);
  }
  if (policies.every(({ plans }) => plans === undefined)) {
    throw new RateLimitConfigError(
      where,
      `plan has no effect, because no policy of the call has plans (${names(policies)}), got ${shown(plan)}`,
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
}

/**
 * The time zone that a call gives.
 *
 * @param where as of `checkPlan`
 * @throws {RateLimitConfigError} when it is not a time zone, or would have no effect
 */
export function checkTimeZone(timeZone: unknown, policies: readonly BoundPolicy[], where: string): string {
  const zone = zoneNamed(timeZone);
  if (zone === undefined) {
    throw new RateLimitConfigError(
      where,
      `timeZone must be a time zone of the IANA database, such as 'Europe/Paris', got ${shown(timeZone)}`,
    );
  }
  if (policies.every((policy) => !hasZoneOfRequest(policy))) {
    throw new RateLimitConfigError(
      where,
      `timeZone has no effect, because no policy of the call has one that is a function (${names(policies)}), got ${shown(timeZone)}`,
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
  return zone;
}

/**
 * @param where as of `checkPlan`
 * @throws {RateLimitConfigError} when a policy of the call does not have the class, or `priority` would have no effect
 */
export function checkPriority(priority: unknown, policies: readonly BoundPolicy[], where: string): void {
  let hasEffect = false;
  for (const { name, priorities } of policies) {
    if (priorities === undefined) continue;
    hasEffect = true;
    if (!priorities.has(priority as string))
      throw new RateLimitConfigError(where, unknownClass(priority, name, priorities));
  }
  if (hasEffect) return;
  throw new RateLimitConfigError(
    where,
    `priority has no effect, because no policy of the call has priorities (${names(policies)}), got ${shown(priority)}`,
    'FG_OPTION_WITHOUT_EFFECT',
  );
}

/** Whether a function chooses the time zone of a policy, or of one of its plans, for each request. */
export function hasZoneOfRequest({ timeZone, plans }: BoundPolicy): boolean {
  return (
    timeZone !== undefined || (plans !== undefined && [...plans.values()].some((one) => one.timeZone !== undefined))
  );
}

/** @throws {RateLimitConfigError} when no lease would be held */
export function checkAcquirable(policies: readonly BoundPolicy[], cost: CallCost | undefined, where: string): void {
  const leased = withElse(policies).filter(isConcurrency);
  if (leased.length === 0) {
    throw new RateLimitConfigError(
      where,
      `${names(policies)} has no leases, because it is no concurrency: use RateLimiter.consume`,
    );
  }
  if (isByName(cost) ? leased.some(({ name }) => cost[name] === 0) : cost === 0)
    throw new RateLimitConfigError(where, 'cost must be a whole number from 1, got 0; use RateLimiter.peek');
}

/**
 * Rejects `concurrency` policies: the method returns no lease to release, so the place would stay taken until it expires.
 *
 * @param where as of `checkPlan`
 * @throws {RateLimitConfigError} when one of the policies is a concurrency
 */
export function checkConsumable(policies: readonly BoundPolicy[], where: string): void {
  const concurrency = policies.find(isConcurrency);
  if (concurrency === undefined) return;
  throw new RateLimitConfigError(
    where,
    `'${concurrency.name}' is a concurrency, whose leases have to be released: use RateLimiter.acquire`,
  );
}

export function isConcurrency({ algorithm }: BoundPolicy): boolean {
  return algorithm.lease !== undefined;
}

export function names(policies: readonly BoundPolicy[]): string {
  return policies.map(({ name }) => `'${name}'`).join(', ');
}

/**
 * The cost that a call charges to one policy.
 *
 * @param given the cost that the call gives; default the policy's own
 * @param where as of `checkPlan`
 * @throws {RateLimitConfigError} for anything but a whole number from 0, and when the policy's cost is a function of the request
 */
export function costOf({ name, cost }: BoundPolicy, given: number | undefined, where: string): number {
  const own = given ?? cost;
  if (typeof own === 'function') {
    throw new RateLimitConfigError(
      where,
      `the cost of policy '${name}' is a function of a request: give { cost } outside of a request`,
    );
  }
  return wholeCostOf(own, name, where);
}
