/** The identities that were found for one request. */
export class ResolvedIdentities {}
