import type { BoundPolicy } from '../../policy/bound-policy.js';
import { RateLimitConfigError, shown } from '../../util/config-error.js';
import { unknownClass } from '../../policy/priorities/priorities.js';
import { zoneNamed } from '../functions/time-zones.js';

/**
 * @param where how the error begins: the method that was called
 * @throws {RateLimitConfigError} when `plan` is not a plan, or would have no effect
 */
export function checkPlan(plan: unknown, policies: readonly BoundPolicy[], where: string): void {
  if (plan !== null && typeof plan !== 'string') {
    throw new RateLimitConfigError(
      where,
      `plan must be the name of a plan, or null for none, got ${shown(plan)}`,
      'FG_INVALID_OPTION',
    );
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
      'FG_INVALID_OPTION',
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
      throw new RateLimitConfigError(where, unknownClass(priority, name, priorities), 'FG_INVALID_OPTION');
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
    'FG_INVALID_OPTION',
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
      'FG_INVALID_OPTION',
    );
  }
  if (Number.isSafeInteger(own) && own >= 0) return own;
  throw new RateLimitConfigError(
    where,
    `the cost of policy '${name}' must be a whole number from 0, got ${shown(own)}`,
    'FG_INVALID_OPTION',
  );
}
