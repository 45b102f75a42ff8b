import { alwaysReadable } from '../util/thrown.js';

/** A request lacks the identity that a policy counts, and `onMissingIdentity` is `'reject'`. Nothing was charged. */
export class IdentityMissingError extends Error {
  static {
    alwaysReadable(this);
  }

  override readonly name = 'IdentityMissingError';

  /** @param policy the name of the policy */
  constructor(readonly policy: string) {
    super(`The request has no identity that policy '${policy}' counts`);
  }
}

/** The client closed its connection: there is no address to count, and no answer can be sent. Nothing was charged. */
export class ClientGoneError extends Error {
  static {
    alwaysReadable(this);
  }

  override readonly name = 'ClientGoneError';

  private constructor() {
    super('The client has gone');
  }

  /** One object for all: thousands of clients may leave at once, and no stack of these errors is read. */
  static get instance(): ClientGoneError {
    return (this.only ??= new ClientGoneError());
  }

  private static only: ClientGoneError | undefined;
}
