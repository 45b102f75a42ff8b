/** A request without the identity that a policy counts, where `onMissingIdentity` is `'refuse'`. Nothing was charged. */
export class IdentityMissingError extends Error {
  override readonly name = 'IdentityMissingError';

  /** @param policy the name of the policy */
  constructor(readonly policy: string) {
    super(`The request has no identity that policy '${policy}' counts`);
  }
}

/** The client has closed its connection: there is no address to count, and no answer to send. Nothing was charged. */
export class ClientGoneError extends Error {
  override readonly name = 'ClientGoneError';

  constructor() {
    super('The client has gone');
  }
}
