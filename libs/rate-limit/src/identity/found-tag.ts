import type { IdentityFunction, IdentityResolver, IdentityValue, MaybeIdentity, MaybeValue } from './identity.js';
import { identityTag, isKind } from './identity-tag.js';
import { type FoundIdentity, IdentityFailure } from './resolved-identities.js';

/** The tag of what a resolver returned. */
export function resolvedTag<Context>(resolver: IdentityResolver<Context>, value: MaybeValue): FoundIdentity {
  if (isNone(value)) return undefined;
  try {
    return identityTag({ kind: resolver.kind, value });
  } catch (error) {
    return new IdentityFailure(resolver, error, true);
  }
}

/** The tag of what a policy's `by` function returned. */
export function returnedTag<Context>(by: IdentityFunction<Context>, identity: MaybeIdentity): FoundIdentity {
  if (identity === undefined || identity === null) return undefined;
  try {
    const { kind, value } = identity;
    // A value that is not there is a missing identity, as in { kind: 'user', value: request.user?.id }. Else all requests
    // without a user would share the identity 'undefined'.
    return isKind(kind) && isNone(value) ? undefined : identityTag({ kind, value: value as IdentityValue });
  } catch (error) {
    return new IdentityFailure(by, error, true);
  }
}

/** Whether a tag is that of an address, or stands for requests that have none. */
export function isAddress(tag: string): boolean {
  return tag.startsWith('ip:') || tag.startsWith('unknown:');
}

function isNone(value: unknown): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}
