import type { BoundPolicy } from '../../policy/bound-policy.js';
import { shown } from '../../util/config-error.js';
import { unknownClass } from '../../policy/priorities/priorities.js';
import { zoneNamed } from '../functions/time-zones.js';

/**
 * @param where how the error begins: the method that was called
 * @throws {TypeError} when `plan` is not a plan, or would have no effect
 */
export function checkPlan(plan: unknown, policies: readonly BoundPolicy[], where: string): void {
  if (plan !== null && typeof plan !== 'string') {
    throw new TypeError(`${where}: plan must be the name of a plan, or null for none, got ${shown(plan)}`);
  }
  if (policies.every(({ plans }) => plans === undefined)) {
    throw new TypeError(
      `${where}: plan has no effect, because no policy of the call has plans (${names(policies)}), got ${shown(plan)}`,
    );
  }
}

/**
 * The time zone that a call gives.
 *
 * @param where as of `checkPlan`
 * @throws {TypeError} when it is not a time zone, or would have no effect
 */
export function checkTimeZone(timeZone: unknown, policies: readonly BoundPolicy[], where: string): string {
  const zone = zoneNamed(timeZone);
  if (zone === undefined) {
    throw new TypeError(
      `${where}: timeZone must be a time zone of the IANA database, such as 'Europe/Paris', got ${shown(timeZone)}`,
    );
  }
  if (policies.every((policy) => !hasZoneOfRequest(policy))) {
    throw new TypeError(
      `${where}: timeZone has no effect, because no policy of the call has one that is a function (${names(policies)}), got ${shown(timeZone)}`,
    );
  }
  return zone;
}

/**
 * @param where as of `checkPlan`
 * @throws {TypeError} when a policy of the call does not have the class, or `priority` would have no effect
 */
export function checkPriority(priority: unknown, policies: readonly BoundPolicy[], where: string): void {
  let hasEffect = false;
  for (const { name, priorities } of policies) {
    if (priorities === undefined) continue;
    hasEffect = true;
    if (!priorities.has(priority as string))
      throw new TypeError(`${where}: ${unknownClass(priority, name, priorities)}`);
  }
  if (hasEffect) return;
  throw new TypeError(
    `${where}: priority has no effect, because no policy of the call has priorities (${names(policies)}), got ${shown(priority)}`,
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
 * @throws {TypeError} when one of the policies is a concurrency
 */
export function checkConsumable(policies: readonly BoundPolicy[], where: string): void {
  const concurrency = policies.find(isConcurrency);
  if (concurrency === undefined) return;
  throw new TypeError(
    `${where}: '${concurrency.name}' is a concurrency, whose leases have to be released: use RateLimiter.acquire`,
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
 * @throws {TypeError} for anything but a whole number from 0, and when the policy's cost is a function of the request
 */
export function costOf({ name, cost }: BoundPolicy, given: number | undefined, where: string): number {
  const own = given ?? cost;
  if (typeof own === 'function') {
    throw new TypeError(
      `${where}: the cost of policy '${name}' is a function of a request: give { cost } outside of a request`,
    );
  }
  if (Number.isSafeInteger(own) && own >= 0) return own;
  throw new TypeError(`${where}: the cost of policy '${name}' must be a whole number from 0, got ${shown(own)}`);
}
