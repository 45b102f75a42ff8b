/** A request lacks the identity that a policy counts, and `onMissingIdentity` is `'refuse'`. Nothing was charged. */
export class IdentityMissingError extends Error {
  override readonly name = 'IdentityMissingError';

  /** @param policy the name of the policy */
  constructor(readonly policy: string) {
    super(`The request has no identity that policy '${policy}' counts`);
  }
}

/** The client closed its connection: there is no address to count, and no answer can be sent. Nothing was charged. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';

  constructor() {
    super('The client has gone');
  }
}
