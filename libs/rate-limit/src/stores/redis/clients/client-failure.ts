/** The client has no connection, or lost it. */
export class ConnectionError extends Error {
  /** @param isAbsent whether there was no connection to send anything on */
  constructor(
    message: string,
    cause: unknown,
    readonly isAbsent: boolean,
  ) {
    super(message, { cause });
  }
}

/** Whether an error means that there is no connection. */
export function isDisconnection(error: Error): boolean {
  return error instanceof ConnectionError && error.isAbsent;
}

/** Whether Redis replied an error: an adapter gives it this name, and the message that Redis sent. */
export function isErrorReply({ name }: Error): boolean {
  return name === 'ReplyError';
}
