import { hasZoneOfRequest } from '../calls/call-arguments.js';
import { zoneNamed } from '../functions/time-zones.js';
import type { BoundPolicy } from '../../policy/bound-policy.js';
import { checkTag, MAX_TAG_BYTES, tagFor } from '../../identity/identity-tag.js';
import type { Identity } from '../../identity/identity.js';
import { RateLimitConfigError, shown } from '../../util/config-error.js';
import { didYouMean } from '../../util/nearest-name.js';

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
    `identity must be { kind, value } or a tag such as 'user:rider-1', got ${shown(given)}`,
    'FG_INVALID_OPTION',
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
    'FG_INVALID_OPTION',
  );
}

/** Names a misplaced argument, for a message; undefined if the order is right. */
function misplaced(first: unknown, second: unknown, isTag: boolean): string | undefined {
  if (isIdentity(first)) return `the identity ${identityShown(first)} first`;
  if (isTag) return `the identity's tag ${tagShown(first as string)} first`;
  if (typeof first === 'function') return `the class ${first.name === '' ? 'without a name' : first.name} first`;
  if (!isPlace(second)) return undefined;
  return Array.isArray(second) ? 'an array second' : 'a policy or a route second';
}

/** Describes an identity without its value, which may be an API key. */
function identityShown({ kind }: Identity): string {
  return `{ kind: ${shown(kind)} }`;
}

function tagShown(tag: string): string {
  return `'${tag.slice(0, tag.indexOf(':'))}:...'`;
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
  names: readonly string[],
  where: string,
): RateLimitConfigError {
  const some = names.slice(0, MAX_LISTED).map(shown).join(', ');
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more (see RateLimiter.table)` : '';
  const plural = what === 'policy' ? 'policies' : 'routes';
  return new RateLimitConfigError(
    where,
    `there is no ${what} named ${shown(given)}.${didYouMean(given, names)} The application's ${plural} are ${some === '' ? 'none' : some}${more}`,
    what === 'policy' ? 'FG_UNKNOWN_POLICY' : 'FG_UNKNOWN_ROUTE',
  );
}

/** @throws {RateLimitConfigError} for a plan that cannot be explained */
export function checkExplainedPlan(plan: unknown, policies: readonly BoundPolicy[], where: string): void {
  if (plan === undefined) return;
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
      `plan has no effect, because none of the policies has plans, got ${shown(plan)}`,
      'FG_OPTION_WITHOUT_EFFECT',
    );
  }
}

/**
 * The time zone that an operator gives; undefined: none was given.
 *
 * @throws {RateLimitConfigError} for text that names no zone, or when no policy has a `timeZone` function
 */
export function explainedZone(timeZone: unknown, policies: readonly BoundPolicy[], where: string): string | undefined {
  if (timeZone === undefined) return undefined;
  const zone = zoneNamed(timeZone);
  if (zone === undefined) {
    throw new RateLimitConfigError(
      where,
      `timeZone must be a time zone of the IANA database, such as 'Europe/Paris', got ${shown(timeZone)}`,
      'FG_INVALID_OPTION',
    );
  }
  if (policies.some(hasZoneOfRequest)) return zone;
  throw new RateLimitConfigError(
    where,
    `timeZone has no effect, because none of the policies has one that is a function, got ${shown(timeZone)}`,
    'FG_OPTION_WITHOUT_EFFECT',
  );
}

/** @throws {RateLimitConfigError} for a class that none of the policies has */
export function checkExplainedPriority(priority: unknown, policies: readonly BoundPolicy[], where: string): void {
  if (priority === undefined) return;
  const classes = [...new Set(policies.flatMap(({ priorities }) => [...(priorities?.keys() ?? [])]))];
  if (classes.includes(priority as string)) return;
  if (classes.length > 0) {
    throw new RateLimitConfigError(
      where,
      `priority must be a class of one of the policies (${classes.map(shown).join(', ')}), got ${shown(priority)}${didYouMean(priority, classes)}`,
      'FG_INVALID_OPTION',
    );
  }
  throw new RateLimitConfigError(
    where,
    `priority has no effect, because none of the policies has priorities, got ${shown(priority)}`,
    'FG_OPTION_WITHOUT_EFFECT',
  );
}
