import { RateLimitConfigError } from '../util/config-error.js';
import { LruMap } from '../util/lru-map.js';
import { type BoundPolicy, bindPolicy } from './bound-policy.js';
import { parseVariant } from './parse-policy.js';
import type { PolicyNumbers } from './policy.js';
import { timeZoneFunction } from './time-zone-function.js';

/** The most variants to keep for one policy: those that were used last. Others are created anew. */
const MAX_VARIANTS = 256;

/** Variants by the canonical text of their change. */
const VARIANTS = new WeakMap<BoundPolicy, LruMap<BoundPolicy>>();

/**
 * The variant of a policy with other numbers of its algorithm: for a plan, or for an override. Name, scope, identity, cost,
 * shards and everything else stay. A bucket's key carries its numbers, so a changed bucket begins full; a window of the same
 * length keeps its count.
 *
 * Equal changes of a policy give the same object, as long as it is among the last 256 that were used.
 *
 * @param change the numbers that differ
 * @param where how error messages begin; default the policy and where it stands
 * @throws {RateLimitConfigError} as at boot: for an option that the algorithm does not have, a wrong number, a constant cost
 *   that no longer fits, shards that do not divide the limit, or a key that could become longer than 200 bytes
 * @example variantOf(bound, { capacity: 100, refill: 50 })
 */
export function variantOf<Context>(
  bound: BoundPolicy<Context>,
  change: PolicyNumbers,
  where = `policy '${bound.name}' of ${bound.boundTo}`,
): BoundPolicy<Context> {
  const text = canonicalText(change);
  let known = VARIANTS.get(bound);
  const variant = text === undefined ? undefined : known?.get(text);
  if (variant !== undefined) return variant;
  if (isObject(change) && timeZoneFunction(change.window) !== undefined) {
    const problem = `the timeZone of a window must be a name here, got a function: no request is known`;
    throw new RateLimitConfigError(where, problem, 'FG_INVALID_POLICY');
  }
  const made = bindPolicy(parseVariant(bound, change, where, true), bound.keyPrefix, bound.boundTo, where, bound.else);
  if (known === undefined) VARIANTS.set(bound, (known = new LruMap(MAX_VARIANTS)));
  if (text !== undefined) known.set(text, made);
  return made;
}

/** Equal for changes of equal options. Undefined for a wrong change whose mistake JSON would hide. */
function canonicalText(change: unknown): string | undefined {
  if (!isObject(change)) return undefined;
  const given = givenOf(change);
  // JSON has no bigint, and writes a function as null, or not at all.
  if (timeZoneFunction((change as PolicyNumbers).window) !== undefined) return undefined;
  if (given.some(([, value]) => !['number', 'string', 'object'].includes(typeof value))) return undefined;
  try {
    return JSON.stringify(given.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  } catch {
    return undefined; // nested too deep, as no option is
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An option that is undefined is not given. */
function givenOf(change: object): [option: string, value: unknown][] {
  return Object.entries(change).filter(([, value]) => value !== undefined);
}
