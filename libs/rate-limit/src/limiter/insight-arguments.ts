import { hasZoneOfRequest } from './call-arguments.js';
import { zoneNamed } from './time-zones.js';
import type { BoundPolicy } from '../policy/bound-policy.js';
import { checkTag, identityTag, MAX_TAG_BYTES } from '../identity/identity-tag.js';
import type { Identity } from '../identity/identity.js';
import { RateLimitConfigError, shown } from '../util/config-error.js';
import { nearestName } from '../util/nearest-name.js';

/** What stands between the braces of a key: a kind, a colon, an escaped value or a hash. */
const TAG = /^[a-z0-9-]{1,16}:[ !"#$%&-9;-z|~]*$/;
/** Names that a message lists at most. */
const MAX_LISTED = 20;

/**
 * The tag of an identity that is given as `{ kind, value }` or as its tag.
 *
 * @throws {RateLimitConfigError} for anything else
 */
export function tagOf(given: unknown, where: string): string {
  if (typeof given === 'string') checkTag(given, where);
  if (typeof given === 'string' && given.length <= MAX_TAG_BYTES && TAG.test(given)) return given;
  if (typeof given === 'object' && given !== null) return identityTag(given as Identity);
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

/** An error that names what is there in place of an unknown name. */
export function unknownName(
  what: 'policy' | 'route',
  given: string,
  names: readonly string[],
  where: string,
): RateLimitConfigError {
  const nearest = nearestName(given, names);
  const guess = nearest === undefined ? '' : ` Did you mean ${shown(nearest)}?`;
  const some = names.slice(0, MAX_LISTED).map(shown).join(', ');
  const more = names.length > MAX_LISTED ? ` and ${names.length - MAX_LISTED} more (see RateLimiter.table)` : '';
  const plural = what === 'policy' ? 'policies' : 'routes';
  return new RateLimitConfigError(
    where,
    `there is no ${what} named ${shown(given)}.${guess} The application's ${plural} are ${some === '' ? 'none' : some}${more}`,
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
 * @throws {RateLimitConfigError} for text that names no zone, or where no policy has a zone of the request
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
