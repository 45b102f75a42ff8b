import type { IdentityFunction, IdentityResolver, IdentityValue, MaybeIdentity, MaybeValue } from './identity.js';
import { countedAddress } from './address.js';
import { addressTag, identityTag, isKind } from './identity-tag.js';
import { type FoundIdentity, IdentityFailure } from './resolved-identities.js';

/**
 * The tag of what a resolver returned.
 *
 * @param ipv6Prefix bits of an IPv6 address that count
 */
export function resolvedTag<Context>(
  resolver: IdentityResolver<Context>,
  value: MaybeValue,
  ipv6Prefix: number,
): FoundIdentity {
  if (isNone(value)) return undefined;
  if (resolver.kind === 'ip' && typeof value === 'string') return foundAddress(value, ipv6Prefix);
  try {
    return identityTag({ kind: resolver.kind, value });
  } catch (error) {
    return new IdentityFailure(resolver, error, true, { kind: resolver.kind, value });
  }
}

/**
 * The tag of what a policy's `by` function returned.
 *
 * @param ipv6Prefix bits of an IPv6 address that count
 */
export function returnedTag<Context>(
  by: IdentityFunction<Context>,
  identity: MaybeIdentity,
  ipv6Prefix: number,
): FoundIdentity {
  if (identity === undefined || identity === null) return undefined;
  try {
    const { kind, value } = identity;
    // A value that is not there is a missing identity, as in { kind: 'user', value: request.user?.id }. Else all requests
    // without a user would share the identity 'undefined'.
    if (kind === 'ip' && typeof value === 'string' && value !== '') return foundAddress(value, ipv6Prefix);
    return isKind(kind) && isNone(value) ? undefined : identityTag({ kind, value: value as IdentityValue });
  } catch (error) {
    return new IdentityFailure(by, error, true, identity);
  }
}

/** Whether a `by` function returned a kind without a value, as a misspelt header makes it. */
export function lacksValue(identity: MaybeIdentity): identity is NonNullable<MaybeIdentity> {
  return typeof identity === 'object' && identity !== null && isKind(identity.kind) && isNone(identity.value);
}

/** Whether a tag is that of an address, or stands for requests that have none. */
export function isAddress(tag: string): boolean {
  return tag.startsWith('ip:') || tag.startsWith('unknown:');
}

/** What is no address is a missing identity: a client may have written it, and must not get a limit for each text. */
function foundAddress(text: string, ipv6Prefix: number): string | undefined {
  const counted = countedAddress(text, ipv6Prefix);
  return counted === undefined ? undefined : addressTag(counted);
}

function isNone(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}
