import type { IdentityFunction, IdentityResolver } from './identity.js';

/** A resolver of the chain, or a policy's `by` function. */
export type IdentitySource = IdentityResolver<never> | IdentityFunction<never>;

/** Why a source gave no identity. */
export class IdentityFailure {
  /**
   * @param invalid whether the source returned a value that is no identity: a mistake in its code, and no missing identity
   * @param given that value
   */
  constructor(
    readonly source: IdentitySource,
    readonly error: unknown,
    readonly invalid: boolean,
    readonly given?: unknown,
  ) {}
}

/** What a source found: the tag of an identity, undefined where the request has none, or a failure. */
export type FoundIdentity = string | undefined | IdentityFailure;

/**
 * What the sources found for one request, so that several policies ask each source once. Promises are kept as well: they
 * never reject.
 */
export class ResolvedIdentities {
  private readonly found = new Map<IdentitySource, FoundIdentity | Promise<FoundIdentity>>();

  has(source: IdentitySource): boolean {
    return this.found.has(source);
  }

  get(source: IdentitySource): FoundIdentity | Promise<FoundIdentity> {
    return this.found.get(source);
  }

  set(source: IdentitySource, found: FoundIdentity | Promise<FoundIdentity>): void {
    this.found.set(source, found);
  }
}
