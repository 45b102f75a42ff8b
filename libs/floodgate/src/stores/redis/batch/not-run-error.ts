/** A node has run nothing of a batch, and all its requests can be asked by slot. */
export class NotRunError extends Error {
  /** @param forbidden whether the server lets no script read a key that was not declared */
  constructor(
    reason: string,
    readonly forbidden: boolean,
  ) {
    super(reason);
  }
}
